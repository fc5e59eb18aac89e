"""A request is followed from its caller to the handler and beyond, in real processes and to a real collector."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from jobs.models import Execution
from jobs.states import Status
from tests.collector import Collector, Exported
from tests.misbehaving import MisbehavingServer
from tests.whole.person import Person
from tests.whole.processes import eventually, free_port, ready_address, start

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
SECRET = "s3cr3t-hunter22"
END = 60  # seconds to end in


class Traced:
    """All of Punctual under one command, handlers in processes of their own, exporting to `endpoint`."""

    def __init__(self, endpoint: str, **env: str) -> None:
        self.process = start(
            *("manage.py", "run_all", "--port", str(free_port())),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            EXTRA_APPS="tests.traced",
            ISOLATE_HANDLERS="true",
            EXECUTION_LEASE="60",
            RETRY_BASE="0.1",
            LOG_LEVEL="INFO",
            LOG_FORMAT="json",
            **{"OTEL_BSP_SCHEDULE_DELAY": "600000"} | env,  # milliseconds: nothing is exported before the end
        )
        self.person = Person(ready_address(self.process))
        self._lines: list[dict[str, Any]] = []
        self._reading = Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        for line in self.process.stdout or []:
            if line.startswith("{"):
                self._lines.append(json.loads(line))

    def told(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self._lines if line["event"] == event]

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        headers |= {"Content-Type": "application/json", "Authorization": f"Bearer {self.person.token}"}
        data = json.dumps({} if body is None else body).encode()
        request = urllib.request.Request(self.person.address + path, data, headers, method="POST")
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def end(self) -> list[dict[str, Any]]:
        """Stop it, and return its lines."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reading.join()
        return self._lines


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.stop()


@pytest.fixture
def target() -> Iterator[MisbehavingServer]:
    target = MisbehavingServer()
    yield target
    target.stop()


@pytest.fixture
def punctual(collector: Collector, target: MisbehavingServer) -> Iterator[Traced]:
    traced = Traced(collector.endpoint, HTTP_ALLOWED_HOSTS=f"127.0.0.1:{target.port}")
    yield traced
    if traced.process.poll() is None:
        traced.end()


def chain(collector: Collector, span: Exported) -> list[str]:
    """The names of the spans above it, up to one that was exported by nobody we know."""
    by_id = {one.span: one for one in collector.spans if one.trace == span.trace}
    names = []
    while span := by_id.get(span.parent):
        names.append(span.name)
    return names


def test_one_trace_leads_from_the_caller_through_retries_to_what_the_handler_does(
    punctual: Traced, collector: Collector
) -> None:
    punctual.post(
        "/api/v1/jobs",
        {"task": "survey", "payload": {"place": "the moor", "password": SECRET}},
        traceparent=f"00-{TRACE}-{CALLER}-01",
    )
    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED))
    lines = punctual.end()  # nothing more is waited for: what was not exported yet is exported now

    [post] = collector.named("POST /api/v1/jobs")
    first, second = collector.named("survey attempt")
    measures = collector.named("measure the moor")
    waits = collector.named("survey queued")
    assert {one.trace for one in (post, first, second, *measures, *waits)} == {TRACE}
    assert (post.parent, post.kind, post.service) == (CALLER, "server", "punctual-web")
    assert [chain(collector, one) for one in measures] == [["survey attempt", "survey queued", "POST /api/v1/jobs"]] * 2
    assert [one.parent for one in (first, second)] == [one.span for one in waits]
    assert [one.parent for one in measures] == [first.span, second.span]
    assert first.kind == "consumer" and waits[0].ended <= first.began

    execution = Execution.objects.get()
    assert first.attributes.items() >= {
        ("punctual.task", "survey"),
        ("punctual.job", str(execution.job_id)),
        ("punctual.execution", str(execution.id)),
        ("punctual.tenant", str(execution.tenant_id)),
        ("punctual.attempt", 1),
        ("punctual.outcome", "RETRYING"),
    }
    assert (second.attributes["punctual.attempt"], second.attributes["punctual.outcome"]) == (2, "COMPLETED")
    assert post.attributes.items() >= {("http.route", "/api/v1/jobs"), ("http.response.status_code", 201)}

    # What failed says why, and nothing says a secret: not what the handler wrote, nor what was raised through its span.
    assert (first.failed, measures[0].failed, second.failed, measures[1].failed) == (True, True, False, False)
    [(event, error)] = first.events
    assert (event, error["exception.type"]) == ("exception", "RuntimeError")
    assert "the moor refuses" in error["exception.message"] and "survey" in error["exception.stacktrace"]
    assert first.attributes["survey.place"].startswith("the moor with ")
    assert SECRET.encode() not in collector.everything

    told = [(line["event"], line["trace_id"], line["span_id"]) for line in lines if line.get("task") == "survey"]
    assert told == [("execution.attempt_failed", TRACE, first.span), ("execution.completed", TRACE, second.span)]


def test_the_target_of_a_request_is_told_the_span_that_asks_it(
    punctual: Traced, collector: Collector, target: MisbehavingServer
) -> None:
    call = {"url": target.url("/fine?token=hunter22"), "body": {"a": 1}}
    punctual.post("/api/v1/jobs", {"task": "http_request", "payload": call})
    eventually(lambda: Execution.objects.filter(status__in=(Status.COMPLETED, Status.FAILED)))
    punctual.end()

    [asked] = [one for one in collector.spans if one.kind == "client"]
    assert target.heard[0].headers["traceparent"] == f"00-{asked.trace}-{asked.span}-01"
    assert chain(collector, asked) == ["http_request attempt", "http_request queued", "POST /api/v1/jobs"]
    assert asked.attributes["server.port"] == target.port and "http.response.status_code" in asked.attributes
    assert b"hunter22" not in collector.everything


def test_what_recurs_is_a_trace_of_its_own_linked_to_the_creation_and_what_is_asked_for_goes_on_in_the_asking(
    punctual: Traced, collector: Collector
) -> None:
    survey = {"task": "survey", "payload": {"place": "the hill", "password": SECRET}}
    job = punctual.post("/api/v1/jobs", survey | {"schedule": {"type": "interval", "seconds": 1, "max_runs": 1}})
    ran = punctual.post(f"/api/v1/jobs/{job['id']}/run")
    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED).count() == 2)
    punctual.end()

    [made] = collector.named("POST /api/v1/jobs")
    [run] = collector.named("POST /api/v1/jobs/{pk}/run")
    waits = collector.named("survey queued")
    asked = [one for one in waits if one.attributes["punctual.execution"] == ran["id"]]
    recurred = [one for one in waits if one not in asked]
    attempts = [one for one in collector.named("survey attempt") if one.trace == recurred[0].trace]
    assert {one.trace for one in asked} == {run.trace} and {one.parent for one in asked} == {run.span}
    assert len({made.trace, run.trace, recurred[0].trace}) == 3
    assert [one.parent for one in recurred] == ["", recurred[0].span]  # its second attempt is of the same trace
    assert all(one.links == [(made.trace, made.span)] for one in recurred)
    assert [one.parent for one in attempts] == [one.span for one in recurred]


def test_an_attempt_that_took_its_process_with_it_is_traced_by_whoever_finds_out(
    punctual: Traced, collector: Collector
) -> None:
    punctual.post("/api/v1/jobs", {"task": "vanish"})
    eventually(lambda: Execution.objects.filter(status=Status.FAILED))
    punctual.end()

    [attempt] = collector.named("vanish attempt")
    assert attempt.failed and attempt.attributes["punctual.outcome"] == "FAILED"
    assert chain(collector, attempt) == ["vanish queued", "POST /api/v1/jobs"]


def test_without_a_collector_work_goes_on_and_it_is_said_once(db) -> None:
    port = free_port()
    punctual = Traced(f"http://127.0.0.1:{port}", OTEL_EXPORTER_OTLP_TIMEOUT="1", OTEL_BSP_SCHEDULE_DELAY="50")
    for _ in range(2):
        punctual.post("/api/v1/jobs", {"task": "survey", "payload": {"place": "a bog", "password": SECRET}})
    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED).count() == 2)
    eventually(lambda: punctual.told("tracing.not_exported"))  # OpenTelemetry tries again for a while before it fails

    # One that comes later gets what is traced from then on.
    collector = Collector(port)
    try:
        again = {"task": "survey", "payload": {"place": "the sea", "password": SECRET}}
        eventually(lambda: punctual.post("/api/v1/jobs", again) and collector.named("measure the sea"))
        lines = punctual.end()
    finally:
        collector.stop()

    assert 1 <= len(punctual.told("tracing.not_exported")) <= 2  # once for each process: the web, and the rest
    assert not [line for line in lines if "opentelemetry" in line.get("logger", "")]
