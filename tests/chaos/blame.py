"""Which fault explains that an attempt came to nothing, or was repeated. Pure.

Strict on purpose: a fault explains an attempt only if it hit that attempt's own process or that process's way to
the database, while the attempt was claimed, running or being written down.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.chaos.history import Fault, History
from tests.chaos.plan import DATABASE

WRITING = 2.0  # seconds after a handler's end within which its outcome should be written
CLAIMING = 1.0  # seconds before a handler's start within which it was claimed
AFTERMATH = 6.0  # seconds beyond a lease until clients of a database that was away are all connected again
ON_PROCESS = ("kill", "freeze", "kill_handler")


@dataclass(frozen=True, slots=True)
class Span:
    """An attempt's life in one process: from its claim to the moment its outcome should be written."""

    pid: int
    slot: str
    since: float
    until: float


def explanation(span: Span, history: History) -> Fault | None:
    """A fault that explains why the attempt's outcome did not count, or None."""
    return next((fault for fault in history.faults if _hits(fault, span, history)), None)


def _hits(fault: Fault, span: Span, history: History) -> bool:
    timing = history.timing
    if fault.kind in ON_PROCESS:
        return fault.pid == span.pid and _meet(fault.begin, fault.end, span)
    if fault.kind == "term":
        outlived = span.until > fault.begin + timing.stop_grace - 1
        return fault.pid == span.pid and outlived and _meet(fault.begin, fault.end + timing.stop_grace, span)
    if fault.server != DATABASE or fault.target not in (DATABASE, span.slot):
        return False
    return _meet(fault.begin, fault.end + timing.lease + AFTERMATH, span)


def _meet(begin: float, end: float, span: Span) -> bool:
    return begin <= span.until + WRITING and end >= span.since - CLAIMING
