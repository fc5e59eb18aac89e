"""The client against a real server that does not always answer well."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from punctual import Invalid, NotAllowed, Punctual, RateLimited, StillGoing, Unreachable, at, cron, every
from punctual.cli.options import parser
from punctual.transport import Transport

Answer = tuple[int, dict[str, str], Any]
JOB = {"id": "a", "task": "t", "status": "ACTIVE", "next_run_at": "2026-11-20T03:30:00Z", "of_later_versions": 1}


class Server:
    """Answers as it is told to, one request after another; None closes the connection without a word."""

    def __init__(self) -> None:
        self.answers: list[Answer | None] = []
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                server.asked.append((self.command, self.path, dict(self.headers), body))
                answer = server.answers.pop(0)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, told = answer
                content = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_one

            def log_message(self, *_: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def client(server: Server, naps: list[float]) -> Iterator[Punctual]:
    client = Punctual(server.address, key="k")
    client.transport._sleep = naps.append
    yield client
    client.close()


def problem(status: int, **more: Any) -> Answer:
    return status, {}, {"detail": "The fact. The remedy.", "status": status, **more}


def test_a_lost_answer_to_a_creation_is_asked_for_again_with_the_same_key(client: Punctual, server: Server) -> None:
    server.answers = [None, problem(503), (201, {"ETag": '"1"'}, JOB)]

    job = client.jobs.create("t", {"n": 1}, schedule=cron("0 9 * * 1"))

    keys = {headers["Idempotency-Key"] for _, _, headers, _ in server.asked}
    assert len(server.asked) == 3 and len(keys) == 1
    assert job.etag == '"1"' and job.next_run_at == datetime(2026, 11, 20, 3, 30, tzinfo=UTC)
    assert job.raw["of_later_versions"] == 1


def test_an_act_that_may_have_been_done_is_not_repeated(client: Punctual, server: Server) -> None:
    server.answers = [None]

    with pytest.raises(Unreachable, match="Is it running"):
        client.jobs.run("a")

    assert len(server.asked) == 1


def test_whoever_is_over_a_limit_waits_as_long_as_is_asked_for(
    client: Punctual, server: Server, naps: list[float]
) -> None:
    server.answers = [(429, {"Retry-After": "7"}, {"detail": "…"}), (200, {}, JOB)]

    client.jobs.get("a")

    assert naps == [7]


def test_waiting_for_a_limit_has_an_end(client: Punctual, server: Server) -> None:
    server.answers = [problem(429) for _ in range(5)]

    with pytest.raises(RateLimited, match=r"The fact\. The remedy\."):
        client.jobs.get("a")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(400, errors=[{"field": "payload.to", "message": "is missing."}]), Invalid),
        (problem(401), NotAllowed),
        (problem(403), NotAllowed),
        ((300, {}, "a proxy's page"), Unreachable),
        ((200, {}, b"<html>a page to sign in</html>"), Unreachable),
        ((200, {}, ["no object"]), Unreachable),
    ],
)
def test_a_refusal_is_named_for_the_fact(client: Punctual, server: Server, answer: Answer, error: type) -> None:
    server.answers = [answer]

    with pytest.raises(error) as raised:
        client.jobs.get("a")

    if error is Invalid:
        assert [(fault.field, fault.message) for fault in raised.value.errors] == [("payload.to", "is missing.")]


def test_a_list_fetches_the_next_page_when_it_is_needed(client: Punctual, server: Server) -> None:
    more = f"{server.address}/api/v1/jobs?cursor=abc%3D&status=ACTIVE&tag=a&tag=b"
    server.answers = [
        (200, {}, {"next": more, "results": [JOB]}),
        (200, {}, {"next": None, "results": [JOB | {"id": "b"}]}),
    ]

    jobs = client.jobs.list(status="ACTIVE", task=None, tag=["a", "b"])

    assert next(jobs).id == "a" and len(server.asked) == 1
    assert [job.id for job in jobs] == ["b"]
    assert [path for _, path, _, _ in server.asked] == [
        "/api/v1/jobs?status=ACTIVE&tag=a&tag=b",
        "/api/v1/jobs?cursor=abc%3D&status=ACTIVE&tag=a&tag=b",
    ]


def test_waiting_ends_with_the_execution_or_with_patience(client: Punctual, server: Server) -> None:
    run = {"id": "e", "job": "a", "task": "t", "status": "RUNNING"}
    server.answers = [(202, {}, run), (200, {}, run), (200, {}, run | {"status": "FAILED"}), (200, {}, run)]

    assert client.jobs.run("a").wait().status == "FAILED"
    with pytest.raises(StillGoing, match="RUNNING"):
        client.executions.get("e").wait(timeout=0)


def test_a_token_that_ran_out_is_replaced(server: Server) -> None:
    server.answers = [(200, {}, {"access": "one"}), problem(401), (200, {}, {"access": "two"}), (200, {}, JOB)]

    with Punctual(server.address, username="dora", password="secret") as client:
        client.jobs.get("a")

    assert [headers.get("Authorization") for _, _, headers, _ in server.asked] == [
        None,
        "Bearer one",
        None,
        "Bearer two",
    ]


def test_a_job_that_was_read_is_changed_only_if_nobody_else_has(client: Punctual, server: Server) -> None:
    server.answers = [(200, {"ETag": '"7"'}, JOB), (200, {"ETag": '"8"'}, JOB)]

    client.jobs.update(client.jobs.get("a"), name="Weekly")

    method, _, headers, body = server.asked[-1]
    assert method == "PATCH" and headers["If-Match"] == '"7"' and body == {"name": "Weekly"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: at(datetime(2026, 11, 20)), "no time zone"),
        (lambda: every(timedelta(milliseconds=1500)), "whole number"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_refused_before_it_is_sent(wrong: Callable[[], Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        wrong()


@pytest.mark.parametrize("wrong", ["", "..", "a/b", "?status=ACTIVE", "a b", "ü"])
def test_what_is_not_an_id_is_refused_before_it_is_sent(client: Punctual, server: Server, wrong: str) -> None:
    for ask in (client.jobs.delete, client.executions.get, client.alerts.delete, client.incidents.get):
        with pytest.raises(ValueError, match="is not an id"):
            ask(wrong)

    assert server.asked == []


@pytest.mark.parametrize("name", ["key", "token", "tenant"])
def test_a_line_break_behind_a_key_is_told(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: only printable ASCII"):
        Punctual(**{name: "abc\n"})


def test_times_and_ids_are_sent_as_the_server_reads_them(client: Punctual, server: Server) -> None:
    instant, job = datetime(2026, 11, 20, 3, 30, tzinfo=UTC), UUID(int=1)
    server.answers = [(200, {}, {"next": None, "results": []}), (200, {}, {"count": 0, "more": False})]

    list(client.executions.list(start_time=instant, job=job))
    client.dead_letters.discard(filter={"start_time": instant, "job": job})

    (_, path, _, _), (_, _, _, body) = server.asked
    assert path.endswith(f"?start_time=2026-11-20T03%3A30%3A00%2B00%3A00&job={job}")
    assert body == {"filter": {"start_time": "2026-11-20T03:30:00+00:00", "job": str(job)}}


def test_the_transport_asks_nobody_else(server: Server) -> None:
    """A redirect would take the key along."""
    server.answers = [(302, {"Location": "http://127.0.0.1:1/elsewhere"}, {})]

    transport = Transport(server.address, key="k", token=None, sign_in=None, tenant=None, timeout=5)
    with pytest.raises(Unreachable):
        transport.ask("GET", "/jobs")
    transport.close()


def test_help_says_what_each_command_does() -> None:
    top = parser("")
    things = next(one for one in top._actions if isinstance(one, argparse._SubParsersAction))
    acts = [
        one
        for thing in things.choices.values()
        for one in thing._actions
        if isinstance(one, argparse._SubParsersAction)
    ]

    told = {choice.dest: choice.help for one in (things, *acts) for choice in one._choices_actions}

    assert {"jobs", "create", "replay", "tail"} <= told.keys() and all(told.values())
    assert all(len(one._choices_actions) == len(one.choices) for one in (things, *acts))  # or one has no help at all
