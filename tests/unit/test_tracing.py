"""Places in traces, and whether tracing is on."""

from __future__ import annotations

import pickle
from enum import Enum
from http import HTTPStatus

import pytest
from django.core.exceptions import ImproperlyConfigured
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import INVALID_SPAN_CONTEXT, StatusCode
from structlog.testing import capture_logs

from jobs.redaction import Scrubber
from scheduler_project import env, tracing
from scheduler_project.logs import hide_within
from scheduler_project.origin import NOBODY, TRACEPARENT, current_origin
from scheduler_project.tracing.ended import Hidden, Relay, context_of
from scheduler_project.tracing.places import Place, derived_span, derived_trace, read_place
from scheduler_project.tracing.requests import written
from scheduler_project.tracing.telemetry import Tracing

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SECRET = "s3cr3t-hunter22"
COLLECTOR = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACING", "OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_PROTOCOL", *env.COLLECTORS):
        monkeypatch.delenv(name, raising=False)


def test_a_traceparent_is_read_as_it_is_written() -> None:
    place = read_place(f"00-{TRACE}-{SPAN}-01")

    assert place == Place(int(TRACE, 16), int(SPAN, 16), sampled=True)
    assert str(place) == f"00-{TRACE}-{SPAN}-01" and len(str(place)) == TRACEPARENT
    assert str(read_place(f"00-{TRACE}-{SPAN}-00")) == f"00-{TRACE}-{SPAN}-00"


def test_of_a_later_version_what_we_know_is_read() -> None:
    assert read_place(f"cc-{TRACE}-{SPAN}-03-what-may-come") == Place(int(TRACE, 16), int(SPAN, 16), sampled=True)


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "hello",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01\n",
    ],
)
def test_what_is_no_traceparent_begins_a_trace_of_its_own(given: str | None) -> None:
    assert read_place(given) is None


def test_what_is_derived_is_the_same_for_everybody_and_evenly_spread() -> None:
    ids = [number.to_bytes(16, "big") for number in range(1000)]
    traces = [derived_trace(one) for one in ids]

    assert traces == [derived_trace(one) for one in ids]
    assert len({*traces, *(derived_span(one, number) for one in ids for number in (1, 2))}) == 3000
    kept = sum(trace & (1 << 64) - 1 < 1 << 62 for trace in traces)  # as a sampler of one in four decides
    assert 200 < kept < 300


class Keep(SpanProcessor):
    def __init__(self, kept: list[ReadableSpan]) -> None:
        self._kept = kept

    def on_end(self, span: ReadableSpan) -> None:
        self._kept.append(span)


def test_secrets_are_taken_out_of_whatever_a_span_says_also_where_handlers_share_the_process() -> None:
    kept: list[ReadableSpan] = []
    traced = Tracing("tests", Hidden(Keep(kept)))
    hidden = hide_within.set(Scrubber([SECRET]))
    try:
        with traced.span("work", kind="internal", attributes={"count": 3, "many": ["a", f"with {SECRET}"]}) as span:
            span.update_name(f"work for {SECRET}")
            span.record_exception(RuntimeError(f"refused {SECRET}"))
            span.set_status(StatusCode.ERROR, SECRET)
    finally:
        hide_within.reset(hidden)
    with traced.span("work", kind="internal", attributes={}):
        pass

    [clean, plain] = kept
    assert SECRET not in clean.to_json() and "refused" in clean.to_json()
    assert clean.context != plain.context and clean.context.is_valid and clean.attributes["count"] == 3
    assert clean.name.startswith("work for ") and clean.status.status_code is StatusCode.ERROR
    assert clean.start_time < clean.end_time and clean.instrumentation_scope.name == "punctual"


class Colour(str, Enum):  # noqa: UP042, its str() is not its value
    RED = "red"


def test_what_a_handler_says_in_its_own_types_and_links_that_lead_nowhere_reach_the_exporting_process() -> None:
    sent: list[bytes] = []
    kept: list[ReadableSpan] = []
    told = {"colour": Colour.RED, "status": HTTPStatus.OK, "within": {"colours": (Colour.RED,)}, "ok": True, "no": None}
    traced = Tracing("tests", Relay(lambda span: sent.append(pickle.dumps(span))))
    with traced.span("work", kind="internal", attributes=told) as span:
        span.add_link(INVALID_SPAN_CONTEXT, {"of": Colour.RED})
        span.add_link(context_of(Place(1, 2)))
    Tracing("tests", Keep(kept)).take(pickle.loads(sent[0]))

    assert b"Colour" not in sent[0] and b"HTTPStatus" not in sent[0]
    [span] = kept
    assert span.attributes == {"colour": "red", "status": 200, "within": {"colours": ["red"]}, "ok": True, "no": None}
    assert [one.context.span_id for one in span.links] == [2]


def test_secrets_are_taken_out_of_attributes_within_attributes() -> None:
    sent: list[dict] = []
    hidden = hide_within.set(Scrubber([SECRET]))
    try:
        with Tracing("tests", Relay(sent.append)).span("work", kind="internal", attributes={"a": {"b": [SECRET]}}):
            pass
    finally:
        hide_within.reset(hidden)

    assert "work" in str(sent) and SECRET not in str(sent)


def test_a_span_that_cannot_be_read_is_left_out_and_that_is_told_once() -> None:
    kept: list[ReadableSpan] = []
    traced = Tracing("tests", Keep(kept))

    with capture_logs() as lines:
        for _ in range(2):
            traced.take({"name": "half a span"})

    assert [line["event"] for line in lines] == ["tracing.span_left_out"] and not kept


def test_routes_are_told_as_people_write_them() -> None:
    assert written("api/v1/jobs$") == "/api/v1/jobs"
    assert written("api/v1/^jobs/(?P<pk>[^/.]+)/run$") == "/api/v1/jobs/{pk}/run"
    assert written("jobs/<uuid:pk>") == "/jobs/{pk}"


def test_it_is_off_unless_a_collector_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.env_tracing("TRACING") is False
    assert tracing.active is None and tracing.current_traceparent() is None and current_origin() == NOBODY

    monkeypatch.setenv(COLLECTOR, "http://127.0.0.1:4318")

    assert env.env_tracing("TRACING") is True


@pytest.mark.parametrize("off", [{"TRACING": "false"}, {"OTEL_SDK_DISABLED": "true"}])
def test_it_can_be_switched_off_where_every_process_is_told_of_a_collector(off, monkeypatch) -> None:
    for name, value in {COLLECTOR: "http://127.0.0.1:4318", **off}.items():
        monkeypatch.setenv(name, value)

    assert env.env_tracing("TRACING") is False


@pytest.mark.parametrize(
    "asked",
    [{"TRACING": "true"}, {COLLECTOR: "http://127.0.0.1:4318"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}],
)
@pytest.mark.parametrize("missing", ["opentelemetry.not_there", "not_there.at_all"])
def test_asked_for_and_not_installed_is_told_with_the_remedy(asked, missing, monkeypatch) -> None:
    [(name, value)] = asked.items()
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(env, "TRACING_NEEDS", ("opentelemetry.sdk", missing))

    with pytest.raises(
        ImproperlyConfigured, match=rf"{name} is .*pip install opentelemetry-sdk .*, or set TRACING=false"
    ):
        env.env_tracing("TRACING")


def test_a_protocol_that_is_not_spoken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COLLECTOR, "http://127.0.0.1:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")

    with pytest.raises(ImproperlyConfigured, match="'grpc' is not spoken here, http/protobuf is"):
        env.env_tracing("TRACING")
