"""The spans of executions: how long each waited, and each attempt at it.

An attempt's span is below that of its waiting, and that is below the request that asked for the run. What a schedule
makes again and again is a trace of its own, linked to the request that created its job: else one trace would grow for
as long as the job lives.

No place is written down, nor sent from process to process: a wait's span is derived from the execution and the number
of the attempt, and so is the trace, where no request asked for it. So whoever finds an attempt lost knows its place.

Nothing of payloads and results is told, and errors are told as history has them, without secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from execution.hiding import scrubber_of
from jobs.ledger import Claim, Outcome
from jobs.states import Status
from scheduler_project import tracing
from scheduler_project.logs import hide_within
from scheduler_project.tracing.places import Place, derived_span, derived_trace, read_place

if TYPE_CHECKING:
    from scheduler_project.tracing.telemetry import Tracing

T = TypeVar("T")


def trace_claimed(claims: Iterable[Claim]) -> None:
    """Note for how long each has waited, from when it might start to this attempt at it."""
    if (active := tracing.active) is None:
        return
    for claim in claims:
        if claim.started_at is None:
            continue
        asked = read_place(claim.traceparent)
        active.record(
            f"{claim.task} queued",
            _wait(active, claim),
            began=claim.started_at - timedelta(seconds=claim.late or 0),
            ended=claim.started_at,
            parent=asked or _first_wait(active, claim),
            linked=read_place(claim.linked),
            attributes=_told(claim),
        )


def attempt(claim: Claim, work: Callable[[Claim, T], Outcome], answer: T) -> Outcome:
    """What `work` says of the claim, which it does in a span: handlers may add to it, and put theirs below it."""
    if (active := tracing.active) is None:
        return work(claim, answer)
    hidden = hide_within.set(scrubber_of(claim))
    try:
        place = _wait(active, claim)
        with active.span(f"{claim.task} attempt", kind="consumer", parent=place, attributes=_told(claim)) as span:
            outcome = work(claim, answer)
            span.set_attribute("punctual.outcome", outcome.status.value)
            if outcome.ended is not None and outcome.status is not Status.COMPLETED:
                error, _, told = outcome.error.partition(": ")
                active.fail(span, error, told=told, traceback=outcome.traceback)
        return outcome
    finally:
        hide_within.reset(hidden)


def trace_ended(ended: Iterable[tuple[Claim, Outcome]]) -> None:
    """Note attempts that no process of ours could trace: a worker's in another language, or one that died with it."""
    if (active := tracing.active) is None:
        return
    for claim, outcome in ended:
        place = _wait(active, claim)
        active.record(
            f"{claim.task} attempt",
            Place(place.trace, derived_span(b"attempt" + claim.id.bytes, claim.attempt), place.sampled),
            began=claim.started_at or outcome.at,
            ended=outcome.at,
            kind="consumer",
            parent=place,
            attributes=_told(claim) | {"punctual.outcome": outcome.status.value},
            error=outcome.error,
        )


def trace_of(claim: Claim) -> dict[str, str]:
    """What lines of the log say of an execution that are written outside of its spans."""
    return {} if tracing.active is None else {"trace_id": f"{_wait(tracing.active, claim).trace:032x}"}


def _wait(active: Tracing, claim: Claim) -> Place:
    """The place of an attempt's waiting, which everything else of it is below."""
    asked = read_place(claim.traceparent)
    if asked is not None:
        return asked._replace(span=derived_span(claim.id.bytes, claim.attempt))
    return _derived(active, claim, claim.attempt)


def _first_wait(active: Tracing, claim: Claim) -> Place | None:
    """What a further attempt is below, where no request asked for it: the first one is on top of its trace."""
    return _derived(active, claim, 1) if claim.attempt > 1 else None


def _derived(active: Tracing, claim: Claim, attempt: int) -> Place:
    trace = derived_trace(claim.id.bytes)
    return Place(trace, derived_span(claim.id.bytes, attempt), active.samples(trace, f"{claim.task} queued"))


def _told(claim: Claim) -> dict[str, Any]:
    return {f"punctual.{name}": value for name, value in claim.told().items()}
