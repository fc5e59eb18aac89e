"""Acts on many jobs at once: each has its own outcome, and all of them cost the same few statements.

They are what `jobs.services` does to one job, done in one transaction to those that can be found and allow it. Jobs are
locked in the order of their ids, as everywhere, so that two such calls never wait for each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.models import Tenant, User
from accounts.quota import QuotaExceeded
from jobs import audit, ledger, quotas
from jobs.clock import database_now
from jobs.ledger import JobMove
from jobs.models import Execution, Job
from jobs.pauses import first_missed
from jobs.services import announce_changes, check_paused
from jobs.states import IllegalMove, JobStatus
from scheduling.upcoming import next_run

Move = Callable[[Job, datetime], JobMove]  # or raises IllegalMove or QuotaExceeded


@dataclass(frozen=True, slots=True)
class Acted:
    """A job and what became of the act on it. `refused` says why nothing did."""

    job: Job
    refused: str = ""
    missed_since: datetime | None = None  # of one that was resumed: the first due time that passed meanwhile


def pause_jobs(ids: Collection[UUID], *, tenant: Tenant, actor: User | None) -> dict[UUID, Acted]:
    """Make no more executions of these jobs until they are resumed. Those that are not found are not in the answer."""

    def pause(job: Job, now: datetime) -> JobMove:
        job.check_move(JobStatus.PAUSED)
        return JobMove(job.id, JobStatus.PAUSED, due_for=job.due_for)

    return _act("pause", ids, pause, tenant=tenant, actor=actor)


def resume_jobs(ids: Collection[UUID], *, tenant: Tenant, actor: User | None) -> dict[UUID, Acted]:
    """Go on with the next due time from now. How many were missed is not counted: for one job, `resume_job` does."""

    room = quotas.Room(tenant)

    def resume(job: Job, now: datetime) -> JobMove:
        check_paused(job)
        upcoming = next_run(json.dumps(job.schedule), now, job=job.id, runs=job.runs)
        if upcoming.start_at:
            room.take_place()
        return JobMove(job.id, JobStatus.ACTIVE if upcoming.start_at else JobStatus.FINISHED, *upcoming)

    return _act("resume", ids, resume, tenant=tenant, actor=actor)


def cancel_jobs(ids: Collection[UUID], *, tenant: Tenant, actor: User | None) -> dict[UUID, Acted]:
    """End these jobs for good, and cancel their executions."""

    def cancel(job: Job, now: datetime) -> JobMove:
        job.check_move(JobStatus.CANCELLED)
        return JobMove(job.id, JobStatus.CANCELLED, due_for=job.due_for)

    return _act("cancel", ids, cancel, tenant=tenant, actor=actor, ending="the job was cancelled")


def delete_jobs(ids: Collection[UUID], *, tenant: Tenant, actor: User | None) -> dict[UUID, Acted]:
    """Make these jobs disappear and cancel what waits. Their history stays."""

    def delete(job: Job, now: datetime) -> JobMove:
        return JobMove(job.id, JobStatus(job.status), due_for=job.due_for, deleted_at=now)

    return _act("delete", ids, delete, tenant=tenant, actor=actor, ending="the job was deleted")


def _act(
    action: str, ids: Collection[UUID], move: Move, *, tenant: Tenant, actor: User | None, ending: str = ""
) -> dict[UUID, Acted]:
    """`ending` is the reason that unfinished executions are cancelled with, where the act ends them."""
    with transaction.atomic():
        found = Job.objects.kept().for_tenant(tenant).filter(pk__in=set(ids)).select_related("owner").order_by("pk")
        jobs = {job.id: job for job in found.in_list().select_for_update(no_key=True, of=("self",))}
        now = database_now()  # once they are locked, as in acts on one
        moves, refused = _decide(jobs.values(), move, now)
        moved = [jobs[one.job_id] for one in moves]
        missed = first_missed(moved, now=now) if action == "resume" else {}
        before = [audit.snapshot(job) for job in moved]
        ledger.move_jobs(moves, now=now)
        for job, one in zip(moved, moves, strict=True):
            job.status, job.next_run_at, job.due_for = one.status, one.next_run_at, one.due_for
            job.version, job.updated_at = job.version + 1, now
        if ending and moved:
            Execution.objects.filter(job__in=[job.id for job in moved]).cancel(ending, now)
        audit.write_many(action, moved, actor, before=before, now=now)
        announce_changes(*moved)
    return {job.id: Acted(job, refused.get(job.id, ""), missed.get(job.id)) for job in jobs.values()}


def _decide(jobs: Iterable[Job], move: Move, now: datetime) -> tuple[list[JobMove], dict[UUID, str]]:
    """What each of the jobs becomes, or why it stays what it is."""
    moves: list[JobMove] = []
    refused: dict[UUID, str] = {}
    for job in jobs:
        try:
            moves.append(move(job, now))
        except (IllegalMove, QuotaExceeded) as error:
            refused[job.id] = str(error)
    return moves, refused
