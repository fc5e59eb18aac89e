"""Where the spans of this process go: nowhere, until tracing is started in a process whose settings ask for it.

Whoever has something to trace looks at `active` first, which is None while tracing is off: that is all it costs then.
Nothing of OpenTelemetry is imported before it is on, since it is an extra that most installations do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    from scheduler_project.tracing.telemetry import Tracing

active: Tracing | None = None


def start(role: str) -> None:
    """Export what this process traces from now on. Starts a thread, so a nursery is made before."""
    global active
    if settings.TRACING and active is None:
        from scheduler_project.tracing.exporting import make_exporting
        from scheduler_project.tracing.telemetry import Tracing

        active = Tracing(role, make_exporting())


def relay(role: str, send: Callable[[dict[str, Any]], None]) -> None:
    """Have `send` take what this process traces to one that exports it: its `take` is given the same."""
    global active
    if settings.TRACING:
        from scheduler_project.tracing.ended import Relay
        from scheduler_project.tracing.telemetry import Tracing

        active = Tracing(role, Relay(send))


def stop() -> None:
    """Export what waits, and trace nothing more."""
    global active
    if active is not None:
        active.close()
        active = None


@contextmanager
def traced(role: str) -> Iterator[None]:
    """Trace for as long as the block lasts."""
    start(role)
    try:
        yield
    finally:
        stop()


def take(told: dict[str, Any]) -> None:
    """Export a span that a relay has sent."""
    if active is not None:
        active.take(told)


def current_traceparent() -> str | None:
    """The span that is current here, as W3C writes it; None where there is none."""
    place = None if active is None else active.current_place()
    return None if place is None else str(place)


def current_ids() -> dict[str, str]:
    """… as lines of the log tell it."""
    place = None if active is None else active.current_place()
    return {} if place is None else {"trace_id": f"{place.trace:032x}", "span_id": f"{place.span:016x}"}
