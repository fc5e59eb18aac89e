"""Turns due jobs into recorded executions, and says when each job is due next.

One transaction for a whole batch: the executions and the jobs' next runs are written
together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction

from jobs import ledger
from jobs.ledger import DueJob, NewExecution, NewSkip, NextRun
from jobs.models import Job
from jobs.policies import Allowances, Misfire
from scheduling.misfire import Outcomes, Policy, decide_missed
from scheduling.overlap import fit_in, minds, policy_of, still_going
from scheduling.upcoming import Upcoming, next_run

logger = structlog.get_logger(__name__)

MOST_OUTCOMES = 5000  # in a transaction: after a long absence each job may have hundreds, and leases do not wait


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a batch of leased jobs became."""

    executions: list[NewExecution]  # new ones only, of those that wait for no other
    next_due: dict[UUID, datetime | None]  # for every job whose lease is over
    skips: list[NewSkip]


@dataclass(slots=True)
class Entries:
    """What is to be written for a batch."""

    ready: list[NewExecution] = field(default_factory=list)
    waiting: list[NewExecution] = field(default_factory=list)
    skips: list[NewSkip] = field(default_factory=list)
    next_runs: list[NextRun] = field(default_factory=list)


def record_due(
    leased: Collection[UUID],
    *,
    now: datetime,
    misfire_grace: timedelta,
    publish_patience: timedelta,
    allowances: Allowances = Allowances(),  # noqa: B008 - it cannot be changed
    carried: Callable[[str], bool] = lambda task: False,
) -> Recorded:
    """Record what becomes of each leased job that really is due: mostly, one execution.

    The row decides, not the index: a job edited, paused or recorded since it was leased
    is left alone, and its lease ends with what the row says.
    """
    batch = partial(_record_batch, leased, now, misfire_grace, publish_patience, allowances, carried)
    try:
        return batch(all_new=True)
    except IntegrityError:  # some are not; nothing is written yet, and now each is asked
        return batch(all_new=False)


def _record_batch(
    leased: Collection[UUID],
    now: datetime,
    misfire_grace: timedelta,
    publish_patience: timedelta,
    allowances: Allowances,
    carried: Callable[[str], bool],
    *,
    all_new: bool,
) -> Recorded:
    next_due: dict[UUID, datetime | None] = {}
    due: list[tuple[DueJob, Outcomes | None]] = []
    entries = Entries()
    with transaction.atomic():
        outcomes = 0
        postponed: list[UUID] = []
        jobs = ledger.lock_due(leased)
        if len(jobs) < len(leased):
            next_due |= dict.fromkeys(set(leased).difference(job.id for job in jobs))  # they are gone
        for job in jobs:
            if job.start_at is None or job.start_at > now:
                next_due[job.id] = job.start_at
            elif now - job.start_at <= misfire_grace:
                due.append((job, None))
            elif outcomes >= MOST_OUTCOMES:
                postponed.append(job.id)
                next_due[job.id] = job.start_at
            else:
                try:
                    missed = _decide_missed(job, now, allowances)
                except Exception as error:
                    _leave(job, error, next_due)
                    continue
                due.append((job, missed))
                outcomes += len(missed.runs) + len(missed.skipped)
        going = still_going([job for job, missed in due if missed is None or missed.runs], now=now)
        for job, missed in due:
            try:
                if missed is None and (not going or job.id not in going):
                    next_due[job.id] = _enter_one(job, entries)
                else:
                    next_due[job.id] = _enter(job, missed or _on_time(job), going.get(job.id), entries)
            except Exception as error:
                _leave(job, error, next_due)
        record = partial(ledger.record, now=now, all_new=all_new)
        new = record(entries.ready, entries.next_runs, wake_at=now + publish_patience, carried=carried)
        record(entries.waiting, [], wake_at=now + allowances.look)
        ledger.skip(entries.skips, now=now)
        if postponed:
            Job.objects.filter(pk__in=postponed).update(leased_until=None)
    return Recorded(new, next_due, entries.skips)


def _enter_one(job: DueJob, entries: Entries) -> datetime | None:
    """Add the run of a job that is on time and that nothing stands in the way of, as is the case for most."""
    due_at = job.due_for or job.start_at
    following = next_run(job.schedule, due_at, job=job.id, runs=job.runs + 1)
    run = NewExecution(job.id, job.tenant_id, job.task, job.priority, due_at, not_before=job.start_at)
    entries.ready.append(run)
    entries.next_runs.append(NextRun(job.id, following[0], following[1], 1, run.id if minds(job) else None))
    return following.start_at


def _on_time(job: DueJob) -> Outcomes:
    first = Upcoming(job.start_at, job.due_for)
    return Outcomes([first], [], first.due_at)


def _decide_missed(job: DueJob, now: datetime, allowances: Allowances) -> Outcomes:
    """What becomes of the due times that were missed, as far as the run before has no say in it."""
    window = None if job.catch_up_window is None else timedelta(seconds=job.catch_up_window)
    return decide_missed(
        Upcoming(job.start_at, job.due_for),
        partial(next_run, job.schedule, job=job.id),
        runs=job.runs,
        now=now,
        policy=Policy(Misfire(job.misfire), window, job.catch_up_max),
        allowances=allowances,
    )


def _enter(job: DueJob, decided: Outcomes, previous: ledger.Going | None, entries: Entries) -> datetime | None:
    """Add what is to be written for a job; return when it starts again."""
    runs = [
        NewExecution(job.id, job.tenant_id, job.task, job.priority, run.due_at, not_before=run.start_at)
        for run in decided.runs
    ]
    fitting, crowded_out = fit_in(runs, policy_of(job), previous)
    following = next_run(job.schedule, decided.until, job=job.id, runs=job.runs + len(fitting))
    latest = fitting[-1].id if fitting and minds(job) else None
    entries.next_runs.append(NextRun(job.id, *following, runs=len(fitting), latest=latest))
    for run in fitting:
        (entries.waiting if run.waits_for else entries.ready).append(run)
    if crowded_out or decided.skipped:
        entries.skips += [NewSkip(job, *one) for one in (*crowded_out, *decided.skipped)]
    return following.start_at


def _leave(job: DueJob, error: Exception, next_due: dict[UUID, datetime | None]) -> None:
    """Whatever is wrong with one job, the others are due.

    This one is left as it is, to come back with its lease: better noisy than forgotten.
    """
    logger.error("job.schedule_unreadable", job=str(job.id), error=str(error), remedy="edit the job's schedule")
    next_due.pop(job.id, None)
