"""What people and API clients do to jobs: the only way in, for the API, the admin and the demo alike.

Each act is one transaction with its audit event; the due index hears of it once it is committed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction

from accounts.models import Tenant, User
from jobs import audit, dead_letters, ledger, quotas
from jobs.clock import database_now
from jobs.ids import new_job_id
from jobs.models import Execution, Job, JobTerm
from jobs.new_jobs import COLUMNS, OF_TERMS, Maker, NewJob, Refusal, row_of, term_rows
from jobs.pauses import Missed, missed_in_pause
from jobs.payloads import Stored, accepted, usable_task
from jobs.policies import check_policies, recurs
from jobs.redaction import redacted
from jobs.states import FINAL, Cause, ChangedMeanwhile, IllegalMove, JobStatus, Status
from scheduler_project.origin import current_origin
from scheduling.index import announce
from scheduling.upcoming import NEVER, first_run, next_run, read_new

MOST_RETRIES = 100  # doubling their delay each time, a hundred never end
LONGEST = 7 * 24 * 3600.0  # seconds, of any limit: a week
SHORTEST_LEASE = 1.0  # seconds: a shorter one is lost to any hiccup


def create_job(wanted: NewJob, *, tenant: Tenant, actor: User | None) -> Job:
    """Store a job and have it run when it is due.

    Raises UnknownTask, InvalidPayload, InvalidSchedule, InvalidPolicy or QuotaExceeded before anything is stored.
    """
    [outcome] = create_jobs([wanted], tenant=tenant, actor=actor)
    if isinstance(outcome, Job):
        return outcome
    raise outcome


def create_jobs(wanted: Sequence[NewJob], *, tenant: Tenant, actor: User | None) -> list[Job | Refusal]:
    """Store jobs and have each run when it is due; answer for each, in their order, with the job or why it is none.

    What is wrong with one keeps no other from being stored; a database that fails stores none. However many they
    are, they cost the same few statements.
    """
    return store_jobs(prepare_jobs(wanted, tenant=tenant, actor=actor))


class Prepared(NamedTuple):
    """What is left to be done for new jobs, or why each of the others is refused."""

    outcomes: list[Job | Refusal]
    tenant: Tenant
    actor: User | None
    now: datetime


def prepare_jobs(wanted: Sequence[NewJob], *, tenant: Tenant, actor: User | None) -> Prepared:
    """Read and check jobs. Call it before a transaction: it takes long, and SQLite has one lock for all who write."""
    now = database_now()
    ids = sorted(new_job_id(now) for _ in wanted)  # so that a list by id keeps their order
    maker = Maker(tenant=tenant, actor=actor, now=now)
    outcomes = [maker.made_or_refused(one, pk) for one, pk in zip(wanted, ids, strict=True)]
    return Prepared(outcomes, tenant, actor, now)


def store_jobs(prepared: Prepared) -> list[Job | Refusal]:
    """Store what was prepared, as far as the tenant has room for it."""
    outcomes, tenant, actor, now = prepared
    jobs = [outcome for outcome in outcomes if isinstance(outcome, Job)]
    if jobs:
        with transaction.atomic():
            jobs = quotas.admit(outcomes, tenant=tenant, now=now)
            ledger.insert(Job, COLUMNS, [row_of(job) for job in jobs])
            ledger.insert(JobTerm, OF_TERMS, term_rows(jobs))
            audit.write_created(jobs, actor, now=now)
            announce_changes(*jobs)
    return outcomes


def update_job(
    job: Job, changes: dict[str, Any], *, actor: User | None, versions: Collection[int] | None = None
) -> Job:
    """Change a job from its next due time on. What is recorded already keeps what it was recorded with.

    With `versions`, only while it is one of these; otherwise ChangedMeanwhile is raised.
    """
    with _act("update", job, actor, versions) as job:
        # Asked once the job is locked: what is due before this instant may be a backfill's, and is not recorded again.
        now = database_now()
        if job.status == JobStatus.CANCELLED:
            raise IllegalMove("A cancelled job cannot be changed. Create a new one.")
        if "task" in changes or "payload" in changes:
            changes = changes | {"payload": _edited_payload(job, changes)}
            # A dead letter is replayed with the payload that its job has by then, but not with that of another task:
            # its handler would be given secrets that were entered for the other one.
            job.executions.all().keep_payload(job.payload, dead=changes.get("task", job.task) != job.task)
        next_run_at = job.next_run_at
        if "schedule" in changes:
            recurrence = read_new(changes["schedule"], job=job.id, now=now)
            first = NEVER if job.status == JobStatus.PAUSED else first_run(recurrence, job=job.id, now=now)
            changes = changes | {"schedule": recurrence.to_dict(), "due_for": first.due_for, "runs": 0}
            next_run_at = first.start_at
        if not changes.keys().isdisjoint(("schedule", "misfire", "overlap")):
            check_policies(
                changes.get("misfire", job.misfire),
                changes.get("overlap", job.overlap),
                recurring=recurs(changes.get("schedule", job.schedule)),
            )
        quotas.check_change(job, changes, next_run_at, now=now)
        if any(changes.get(name, getattr(job, name)) != getattr(job, name) for name in ("task", "priority")):
            changes = changes | {"rerouted": True}
        job.edit(next_run_at, **changes)
        if not changes.keys().isdisjoint(("name", "tags")):
            JobTerm.objects.forget([job.id])
            ledger.insert(JobTerm, OF_TERMS, term_rows([job]))
    return job


def delete_job(job: Job, *, actor: User | None, versions: Collection[int] | None = None) -> None:
    """Make a job disappear and cancel what waits. Its history stays. `versions` are as in an update."""
    now = database_now()
    with _act("delete", job, actor, versions) as job:
        job.delete_softly(now)
        job.executions.all().cancel("the job was deleted", now)


def pause_job(job: Job, *, actor: User | None) -> Job:
    """Make no more executions until resumed. What is recorded already still runs."""
    with _act("pause", job, actor) as job:
        job.pause()
    return job


class Resumed(NamedTuple):
    """A job that goes on, and what it missed while it did not."""

    job: Job
    missed: Missed


def resume_job(job: Job, *, actor: User | None) -> Resumed:
    """Go on with the next due time from now. Due times that passed during the pause are not made up for."""
    with _act("resume", job, actor) as job:
        now = database_now()  # once it is locked, as in an update
        check_paused(job)
        missed = missed_in_pause(job, now=now)
        quotas.Room(job.tenant).take_place()
        job.resume(*next_run(json.dumps(job.schedule), now, job=job.id, runs=job.runs))
    return Resumed(job, missed)


def check_paused(job: Job) -> None:
    """Raise IllegalMove where there is nothing to resume."""
    if job.status != JobStatus.PAUSED:
        raise IllegalMove(f"Only a paused job can be resumed; this one is {job.status}.")


def cancel_job(job: Job, *, actor: User | None) -> Job:
    """End a job for good, and cancel its executions; one that runs is asked to end, and not retried."""
    now = database_now()
    with _act("cancel", job, actor) as job:
        job.cancel()
        job.executions.all().cancel("the job was cancelled", now)
    return job


def cancel_execution(execution: Execution, *, actor: User | None) -> Execution:
    """End one execution: at once while it waits; while it runs, as soon as its handler ends or is stopped."""
    now = database_now()
    with _act("cancel_execution", execution.job, actor, execution=str(execution.pk)):
        current = Execution.objects.select_for_update(no_key=True).get(pk=execution.pk)
        if current.status in FINAL:
            raise IllegalMove(f"An execution that is {current.status} cannot be cancelled any more.")
        Execution.objects.filter(pk=execution.pk).cancel("cancelled by hand", now)
    execution.refresh_from_db()
    return execution


def retry_execution(execution: Execution, *, actor: User | None, payload: Any = None) -> Execution:
    """Run one that has failed for good again, with all its retries, and with `payload` if there is one.

    Raises IllegalMove where there is nothing to retry, and what `dead_letters.replay` raises.
    """
    if not dead_letters.replay(Execution.objects.filter(pk=execution.pk), actor=actor, payload=payload):
        execution.refresh_from_db()
        raise IllegalMove(_why_not_retried(execution))
    execution.refresh_from_db()
    return execution


def run_job_now(job: Job, *, actor: User | None) -> Execution:
    """Record an execution due now, whatever the schedule says, and without disturbing it."""
    now = database_now()
    with _act("run_now", job, actor) as job:
        if job.status == JobStatus.CANCELLED:
            raise IllegalMove("A cancelled job cannot be run. Create a new one.")
        quotas.Room(job.tenant).take_runs(1, now=now)
        new = ledger.NewExecution(job.id, job.tenant_id, job.task, job.priority, now, Cause.RUN_NOW)
        # Overdue from the start: the recoverer is what sends it.
        ledger.record([new], [], now=now, wake_at=now)
        Execution.objects.filter(pk=new.id).update(**current_origin()._asdict())
    return Execution.objects.select_related("job").get(pk=new.id)


def _edited_payload(job: Job, changes: dict[str, Any]) -> Any:
    """What the job's payload is after the changes; one that only its task is new for has to fit that."""
    task = usable_task(changes.get("task", job.task), job.tenant_id)
    payload = changes["payload"] if "payload" in changes else redacted(job.payload)
    return accepted(task, payload, tenant=job.tenant_id, stored=Stored(job.task, job.payload))


def _why_not_retried(execution: Execution) -> str:
    if execution.status != Status.FAILED:
        return (
            f"Only an execution that has failed for good can be retried; this one is {execution.status}. "
            "Run its job if it is to be done once more."
        )
    if execution.discarded_at:
        return "This execution was discarded, and is no dead letter any more. Run its job instead."
    if execution.job.deleted_at or execution.job.status == JobStatus.CANCELLED:
        return "Its job was cancelled or deleted, and runs no more. Create a new one."
    return "It was retried by somebody else meanwhile, and has failed again. Read it again and repeat."


@contextmanager
def _act(
    action: str, job: Job, actor: User | None, versions: Collection[int] | None = None, **about: str
) -> Iterator[Job]:
    """One act on one job, from the lock to the announcement. What is yielded is the job as it is now.

    What the act is `about`, if not the job as a whole, is written down with it.
    """
    with transaction.atomic():
        current = Job.objects.kept().locked().get(pk=job.pk)
        if versions is not None and current.version not in versions:
            raise ChangedMeanwhile(
                "The job was changed since you read it. Read it again, and repeat what still applies."
            )
        before = audit.snapshot(current) | about
        yield current
        after = audit.snapshot(current) | about
        audit.omit_unchanged(before, after)
        audit.write(action, current, actor, before=before, after=after)
        announce_changes(current)


def announce_changes(*jobs: Job) -> None:
    """Tell the due index when these jobs run next, once that is committed."""
    transaction.on_commit(lambda: announce({job.id: job.next_run_at for job in jobs}))
