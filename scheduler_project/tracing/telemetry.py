"""Traces with OpenTelemetry: the spans of one process, in words that callers can use without importing it.

What it promises to the work that is traced: no call here waits for a collector, or fails because of one. Ended spans
wait in a queue of bounded length, and those that find it full are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from threading import Thread
from typing import Any

import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import NonRecordingSpan, Span, SpanKind, StatusCode

from jobs.ids import EPOCH, MICROSECOND
from scheduler_project.tracing.ended import Plain, context_of, place_of, restored
from scheduler_project.tracing.places import Place

logger = structlog.get_logger(__name__)

SCOPE = "punctual"
END_PATIENCE = 5.0  # seconds for the last spans: a supervisor kills what takes long to end
KINDS = {kind.name.lower(): kind for kind in SpanKind}
ERROR = StatusCode.ERROR.value


class Tracing:
    """`role` is what the process's service is called, unless the environment names one."""

    def __init__(self, role: str, processor: SpanProcessor) -> None:
        self._processor = processor
        self._complained = False
        self._provider = TracerProvider(resource=_resource(role), shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(SCOPE)
        trace.set_tracer_provider(self._provider)  # for what handlers trace themselves

    def close(self) -> None:
        """Export what waits; with a collector that does not answer, give it up before somebody loses patience."""
        ending = Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        ending.start()
        ending.join(END_PATIENCE)

    def current_place(self) -> Place | None:
        return place_of(trace.get_current_span().get_span_context())

    def samples(self, trace_id: int, name: str) -> bool:
        """Whether a trace that begins with a span of this name is kept; the same for whoever asks."""
        return self._provider.sampler.should_sample(None, trace_id, name).decision.is_sampled()

    @contextmanager
    def span(
        self, name: str, *, kind: str, parent: Place | None = None, attributes: Mapping[str, Any]
    ) -> Iterator[Span]:
        """A span that is current within the block, below `parent` or else below the one that is current already.

        What escapes the block makes it an error, and is told by its type alone: its words may hold what is secret.
        """
        above = None if parent is None else trace.set_span_in_context(NonRecordingSpan(context_of(parent)))
        with self._tracer.start_as_current_span(
            name,
            above,
            kind=KINDS[kind],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                self.fail(span, type(error).__name__)
                raise

    @staticmethod
    def fail(span: Span, error: str, *, told: str = "", traceback: str = "") -> None:
        """Note what a span ended with. Callers see to it that no words are secret."""
        details = {"exception.type": error, "exception.message": told, "exception.stacktrace": traceback}
        span.add_event("exception", {name: text for name, text in details.items() if text})
        span.set_status(StatusCode.ERROR, f"{error}: {told}" if told else error)

    def record(
        self,
        name: str,
        place: Place,
        *,
        began: datetime,
        ended: datetime,
        kind: str = "internal",
        parent: Place | None = None,
        linked: Place | None = None,
        attributes: Mapping[str, Any],
        error: str = "",
    ) -> None:
        """Note a span that is over already, at a place that was known before."""
        if not place.sampled:
            return
        told: Plain = {
            "name": name,
            "place": place,
            "parent": parent,
            "kind": KINDS[kind].value,
            "began": _nanoseconds(began),
            "ended": _nanoseconds(ended),
            "attributes": dict(attributes),
            "events": [],
            "links": [] if linked is None else [(linked, {})],
            "status": (ERROR, error) if error else (StatusCode.UNSET.value, ""),
            "scope": (SCOPE, None),
        }
        self.take(told)

    def take(self, told: Plain) -> None:
        """Export a span that ended elsewhere. One that cannot be read is left out; the work goes on."""
        try:
            self._processor.on_end(restored(told, self._provider.resource))
        except Exception:
            if not self._complained:
                self._complained = True
                logger.exception("tracing.span_left_out", remedy="work goes on; further ones are not told of")


def _resource(role: str) -> Resource:
    named = os.environ.get("OTEL_SERVICE_NAME") or SERVICE_NAME in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if named else {SERVICE_NAME: f"punctual-{role}"})


def _nanoseconds(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND * 1000
