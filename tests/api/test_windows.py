"""What is served beside the API's own routes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from django.db.utils import ConnectionHandler
from django.utils.connection import ConnectionProxy

from execution.broker.rabbitmq import RabbitMQBroker
from scheduler_project import health, past_the_pool
from scheduler_project.env import env_database
from scheduling.index.redis import RedisDueIndex

pytestmark = pytest.mark.django_db

NOBODY = 1  # a port that nobody listens at
PASSWORD = "open-sesame"


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def short_of_time(monkeypatch) -> None:
    """A second: time enough for servers that are there, and too little for a client to give a silent one up itself."""
    monkeypatch.setattr(health, "PATIENCE", 1)
    monkeypatch.setattr(health, "WHY_PATIENCE", 1)


@pytest.fixture
def database_at(monkeypatch, tmp_path) -> Iterator[Callable[[int], None]]:
    """Let the database be a PostgreSQL at another port, with a pool as ever."""
    made: list[ConnectionProxy] = []

    def move(port: int) -> None:
        monkeypatch.setenv("DATABASE_URL", f"postgres://alice:{PASSWORD}@127.0.0.1:{port}/lost?connect_timeout=1")
        lost = env_database("DATABASE_URL", embedded=tmp_path / "none", pool_size=1)
        # Of another name: pools are known by it.
        proxy = ConnectionProxy(ConnectionHandler({"default": lost, "lost": lost}), "lost")
        for module in (health, past_the_pool):
            monkeypatch.setattr(module, "connection", proxy)
        made.append(proxy)

    yield move
    for proxy in made:
        proxy.close_pool()


def test_healthz_is_alive(client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_readyz_names_each_dependency(client) -> None:
    assert client.get("/readyz").json() == {"status": "ok", "database": "ok", "due_index": "ok", "broker": "ok"}


def test_readyz_says_why_redis_does_not_answer_and_stays_ready(client, monkeypatch) -> None:
    monkeypatch.setattr(health, "get_due_index", lambda: RedisDueIndex(f"redis://:{PASSWORD}@127.0.0.1:{NOBODY}/0"))

    answer = client.get("/readyz")

    told = answer.json()
    assert (answer.status_code, told["status"], told["database"], told["broker"]) == (200, "ok", "ok", "ok")
    assert "Redis does not answer" in told["due_index"] and "Connection refused" in told["due_index"]
    assert PASSWORD not in answer.content.decode()


def test_readyz_says_why_rabbitmq_does_not_answer_and_stays_ready(client, monkeypatch) -> None:
    broker = RabbitMQBroker(f"amqp://alice:{PASSWORD}@127.0.0.1:{NOBODY}/%2F")
    monkeypatch.setattr(health, "get_broker", lambda: broker)

    with closing(broker):
        answer = client.get("/readyz")

    told = answer.json()
    assert (answer.status_code, told["status"], told["database"], told["due_index"]) == (200, "ok", "ok", "ok")
    assert "RabbitMQ" in told["broker"] and "Connection refused" in told["broker"]
    assert PASSWORD not in answer.content.decode()


@pytest.mark.parametrize("which", ["due_index", "broker"])
def test_readyz_waits_for_nobody_who_keeps_silent(client, monkeypatch, short_of_time, silent, which) -> None:
    broker = RabbitMQBroker(f"amqp://alice:{PASSWORD}@127.0.0.1:{silent}/%2F")
    index = RedisDueIndex(f"redis://:{PASSWORD}@127.0.0.1:{silent}/0")
    name, mute = {"due_index": ("get_due_index", index), "broker": ("get_broker", broker)}[which]
    monkeypatch.setattr(health, name, lambda: mute)

    with closing(broker):
        answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "due_index": "ok", "broker": "ok"} | {
        which: "no answer within 1 s"
    }


@pytest.mark.parametrize(("listens", "reason"), [(False, "Connection refused"), (True, "timeout")])
def test_readyz_is_unavailable_without_the_database_and_says_why(
    client, database_at, short_of_time, silent, listens, reason
) -> None:
    database_at(silent if listens else NOBODY)

    answer = client.get("/readyz")

    told = answer.json()
    assert (answer.status_code, told["status"], told["due_index"], told["broker"]) == (503, "unavailable", "ok", "ok")
    assert reason in told["database"]
    assert PASSWORD not in answer.content.decode()


def test_readyz_is_no_error_where_a_server_cannot_even_be_asked(client, monkeypatch) -> None:
    def broken() -> None:
        raise ValueError("AMQP_URL names no host.")

    monkeypatch.setattr(health, "get_broker", broken)

    assert client.get("/readyz").json()["broker"] == "ValueError: AMQP_URL names no host."


def test_metrics_are_in_prometheus_format(client) -> None:
    assert b"# TYPE django_http_requests_total_by_method_total counter" in client.get("/metrics").content


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_machines_inside_may_call_us_by_any_address_and_without_tls(client, settings, path) -> None:
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["punctual.example.com"], True

    assert client.get(path, headers={"host": "10.2.3.4:8000"}).status_code == 200
    assert client.get("/sign-in", headers={"host": "10.2.3.4:8000"}, secure=True).status_code == 400


def test_who_asks_through_the_proxy_learns_that_we_live_and_nothing_else(client) -> None:
    answers = {
        path: client.get(path, headers={"x-forwarded-for": "203.0.113.9"})
        for path in ("/healthz", "/readyz", "/metrics")
    }

    assert {path: answer.status_code for path, answer in answers.items()} == {
        "/healthz": 200,
        "/readyz": 404,
        "/metrics": 404,
    }
    assert answers["/metrics"].content == b""


def test_the_schema_describes_every_route(client) -> None:
    schema = client.get("/api/schema", headers={"accept": "application/vnd.oai.openapi+json"}).json()

    assert not [path for path in schema["paths"] if path.endswith("/")]
    assert schema["openapi"].startswith("3.")
    assert {
        "/api/v1/auth/register",
        "/api/v1/auth/token",
        "/api/v1/auth/token/refresh",
        "/api/v1/jobs",
        "/api/v1/jobs/bulk",
        "/api/v1/jobs/{id}",
        "/api/v1/jobs/{id}/pause",
        "/api/v1/jobs/{id}/resume",
        "/api/v1/jobs/{id}/run",
        "/api/v1/jobs/{id}/cancel",
        "/api/v1/jobs/{id}/occurrences",
        "/api/v1/jobs/{id}/backfill",
        "/api/v1/jobs/{job_id}/executions",
        "/api/v1/executions",
        "/api/v1/executions/{id}",
    } <= set(schema["paths"])


def test_the_docs_page_asks_nobody_else_for_anything(client) -> None:
    page = client.get("/api/docs").content.decode()

    assert "swagger-ui" in page
    assert "http://" not in page.replace("http://testserver", "") and "https://" not in page
