"""What is served beside the API's own routes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db


def test_healthz_is_alive(client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_readyz_names_each_dependency(client) -> None:
    assert client.get("/readyz").json() == {"status": "ok", "database": "ok", "due_index": "ok", "broker": "ok"}


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
