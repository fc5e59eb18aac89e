"""Spans that have ended, in plain words: so they go from one process to another, and lose the secrets in them.

A handler may put anything into its spans, and an exception that passes through one is written into it with all it says.
So each is cleaned where it ends, by the same scrubber that cleans lines of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from scheduler_project.logs import hide_within
from scheduler_project.tracing.places import Place

Plain = dict[str, Any]
Clean = Callable[[str], str]


class Hidden(SpanProcessor):
    """Gives spans on without the secrets of what is being run."""

    def __init__(self, following: SpanProcessor) -> None:
        self._following = following

    def on_end(self, span: ReadableSpan) -> None:
        hidden = hide_within.get() is not None
        self._following.on_end(restored(plain(span), span.resource) if hidden else span)

    def shutdown(self) -> None:
        self._following.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._following.force_flush(timeout_millis)


class Relay(SpanProcessor):
    """Gives spans, in plain words, to whoever sends them to a process that exports them."""

    def __init__(self, send: Callable[[Plain], None]) -> None:
        self._send = send

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            self._send(plain(span))


def plain(span: ReadableSpan) -> Plain:
    """All that a span says, without the secrets of what is being run here."""
    scrubber = hide_within.get()
    clean = str if scrubber is None else scrubber.clean
    scope = span.instrumentation_scope
    return {
        "name": clean(span.name),
        "place": place_of(span.context),
        "parent": place_of(span.parent),
        "kind": span.kind.value,
        "began": span.start_time,
        "ended": span.end_time,
        "attributes": _cleaned(span.attributes, clean),
        "events": [(clean(one.name), _cleaned(one.attributes, clean), one.timestamp) for one in span.events],
        "links": [(place, _cleaned(one.attributes, clean)) for one in span.links if (place := place_of(one.context))],
        "status": (span.status.status_code.value, clean(span.status.description or "")),
        "scope": (scope.name, scope.version) if scope else ("", None),
    }


def restored(told: Plain, resource: Resource) -> ReadableSpan:
    code, description = told["status"]
    return ReadableSpan(
        told["name"],
        context_of(told["place"]),
        parent=told["parent"] and context_of(told["parent"]),
        resource=resource,
        attributes=told["attributes"],
        events=[Event(name, attributes, at) for name, attributes, at in told["events"]],
        links=[Link(context_of(place), attributes) for place, attributes in told["links"]],
        kind=SpanKind(told["kind"]),
        status=Status(StatusCode(code), description or None),
        start_time=told["began"],
        end_time=told["ended"],
        instrumentation_scope=InstrumentationScope(*told["scope"]),
    )


def place_of(context: SpanContext | None) -> Place | None:
    if context is None or not context.is_valid:
        return None
    return Place(context.trace_id, context.span_id, context.trace_flags.sampled)


def context_of(place: Place) -> SpanContext:
    return SpanContext(place.trace, place.span, is_remote=True, trace_flags=TraceFlags(place.sampled))


def _cleaned(attributes: Mapping[str, Any] | None, clean: Clean) -> dict[str, Any]:
    return {str(name): _clean_value(value, clean) for name, value in (attributes or {}).items()}


def _clean_value(value: Any, clean: Clean) -> Any:
    """Of Python's own types alone: a handler's may not survive the way, or mean nothing to another process."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, bytes):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return _cleaned(value, clean)
    if isinstance(value, (list, tuple)):
        return [_clean_value(one, clean) for one in value]
    return clean(str.__str__(value) if isinstance(value, str) else str(value))
