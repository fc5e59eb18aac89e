"""What becomes of attempts: the end of each, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from jobs.ledger.batch import HERE, as_uuid, change, run
from jobs.ledger.claiming import HELD, Attempted
from jobs.models import Attempt
from jobs.states import FINAL, AttemptOutcome, Status


class Outcome(NamedTuple):
    """What became of an attempt, told by whoever held it (or found its worker gone)."""

    execution_id: UUID
    attempt: int
    status: Status
    at: datetime
    wake_at: datetime | None = None
    retry_at: datetime | None = None
    result: str | None = None  # JSON
    error: str = ""
    traceback: str = ""
    worker: str = ""
    started_at: datetime | None = None
    ended: AttemptOutcome | None = AttemptOutcome.FAILED  # of one that did not complete: how; None if it was not made
    forgiven: bool = False  # the attempt does not count
    took: float | None = None  # seconds in the handler, where it was called
    fingerprint: str | None = None  # of one that is given up: what its error has in common with others


_make, _COMPLETED, _FAILED = tuple.__new__, Status.COMPLETED, AttemptOutcome.FAILED


def completion(execution_id: UUID, attempt: int, at: datetime, result: str | None, took: float | None) -> Outcome:
    """The outcome of an attempt that completed, as nearly all do. Says the same as `Outcome(…)`, in half the time."""
    return _make(
        Outcome,
        (execution_id, attempt, _COMPLETED, at, None, None, result, "", "", "", None, _FAILED, False, took, None),
    )


def settle(outcomes: Sequence[Outcome]) -> list[Status | None]:
    """Write outcomes, and a row for each attempt made that did not complete; return what status each has led to.

    An outcome of a worker that lost its lease changes nothing, and leads to None. One that would be tried again, or
    give up, ends as cancelled where that was asked for. All are written, or none.
    """
    others = [one for one in outcomes if one.status is not _COMPLETED]
    if not others:  # as nearly always: one statement, which is a transaction of its own
        if _complete(outcomes) == len(outcomes):
            return [_COMPLETED] * len(outcomes)
        done = set(_which_completed(outcomes))
        return [_COMPLETED if one[:2] in done else None for one in outcomes]
    with transaction.atomic(savepoint=False):
        return _settle_mixed(outcomes, others)


def _settle_mixed(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> list[Status | None]:
    """Two statements, each of which locks in one order. Together they would not, so all are locked first."""
    completed = [one for one in outcomes if one.status is _COMPLETED]
    if completed:
        run("SELECT count(*) FROM r", {"this": "uuid"}, [one[:1] for one in outcomes], only="true")
    all_completed = _complete(completed) == len(completed)
    done = [one[:2] for one in completed] if all_completed else _which_completed(completed)
    moved = dict.fromkeys(done, _COMPLETED) | _end_otherwise(others)
    return [moved.get(one[:2]) for one in outcomes]


def _complete(outcomes: Sequence[Outcome]) -> int:
    """How many were ours to complete: nearly always all."""
    return change(
        f"""
        UPDATE {HERE} SET status = %(completed)s, finished_at = r.done, wake_at = NULL, result = r.answer,
            error = ''
        FROM r WHERE id = r.this
        """,
        {"this": "uuid", "mine": "integer", "answer": "jsonb", "done": "timestamptz"},
        [(one.execution_id, one.attempt, one.result, one.at) for one in outcomes],
        only=HELD,
        running=Status.RUNNING.value,
        completed=Status.COMPLETED.value,
    )


def _which_completed(outcomes: Sequence[Outcome]) -> list[Attempted]:
    """Those that are written, by these very words: also before, where it was not heard that the commit succeeded."""
    rows = run(
        f"""
        SELECT e.id, e.attempt FROM r JOIN {HERE} AS e ON e.id = r.this
        WHERE e.attempt = r.mine AND e.finished_at = r.done AND e.status = %(completed)s
        """,
        {"this": "uuid", "mine": "integer", "done": "timestamptz"},
        [(one.execution_id, one.attempt, one.at) for one in outcomes],
        completed=Status.COMPLETED.value,
    )
    return [(as_uuid(one), attempt) for one, attempt in rows]


def _end_otherwise(outcomes: Sequence[Outcome]) -> dict[Attempted, Status]:
    rows = run(
        f"""
        UPDATE {HERE} SET error = r.complaint, fingerprint = r.alike, result = NULL,
            status = CASE WHEN cancel_requested_at IS NULL THEN r.target ELSE %(cancelled)s END,
            wake_at = CASE WHEN cancel_requested_at IS NULL THEN r.wake END,
            finished_at = CASE WHEN cancel_requested_at IS NULL THEN r.done ELSE r.ended END,
            not_before = coalesce(r.again, not_before), forgiven = forgiven + r.pardon
        FROM r WHERE id = r.this RETURNING id, attempt, status
        """,
        {
            "this": "uuid",
            "mine": "integer",
            "target": "text",
            "complaint": "text",
            "alike": "text",
            "wake": "timestamptz",
            "again": "timestamptz",
            "done": "timestamptz",
            "ended": "timestamptz",
            "pardon": "integer",
        },
        [
            (
                one.execution_id,
                one.attempt,
                one.status.value,
                one.error,
                one.fingerprint,
                one.wake_at,
                # One that may run again at once keeps its old place in the queue.
                one.retry_at if one.retry_at is not None and one.retry_at > one.at else None,
                one.at if one.status in FINAL else None,
                one.at,
                int(one.forgiven),
            )
            for one in outcomes
        ],
        only=HELD,
        running=Status.RUNNING.value,
        cancelled=Status.CANCELLED.value,
    )
    moved = {(as_uuid(one), attempt): Status(status) for one, attempt, status in rows}
    Attempt.objects.bulk_create(
        [
            Attempt(
                execution_id=one.execution_id,
                number=one.attempt,
                outcome=one.ended,
                error=one.error,
                traceback=one.traceback,
                worker=one.worker,
                started_at=one.started_at,
                finished_at=one.at,
            )
            for one in outcomes
            if (one.execution_id, one.attempt) in moved and one.error and one.ended is not None
        ],
        ignore_conflicts=True,
    )
    return moved
