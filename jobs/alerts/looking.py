"""What watchers read. Each query goes by an index and has a bound, whatever is stored and however much is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from jobs.alerts.judging import Cursor, Failure, Outcome, Trouble, Waiting
from jobs.alerts.kinds import Kind
from jobs.expected import pending_due
from jobs.ids import execution_id, highest_id
from jobs.models import Attempt, Execution, Incident, Job
from jobs.states import AttemptOutcome, Cause, Status

MOST_OVERDUE = 2_000  # jobs, those due longest: with more, these tell enough
MOST_LATE = 500  # executions of a task
MOST_FAILED = 1_000  # a look
MOST_ATTEMPTS = 200  # that did not end well, the latest
LOST = (AttemptOutcome.UNKNOWN, AttemptOutcome.CRASHED)
OFTEN_LOST = 3  # attempts of a task: one or two are what a restart by force leaves behind
MOST_MENDED = 200  # open failures that are looked at in one go
OF_A_JOB = ("id", "tenant_id", "name", "task", "tags", "next_run_at", "due_for")
OF_A_WAIT = ("id", "job_id", "tenant_id", "task", "not_before", "job__name", "job__tags")
SINCE_RECORDED = tuple("recorded_at" if name == "not_before" else name for name in OF_A_WAIT)
OF_A_FAILURE = (
    *("id", "job_id", "tenant_id", "task", "error", "fingerprint", "finished_at"),
    *("job__name", "job__tags"),
)


def missed(before: datetime, cause: str) -> list[Trouble]:
    """Jobs whose due time is past for so long, and has no execution: recording one is what moves it on."""
    overdue = Job.objects.due(before).order_by("next_run_at").only(*OF_A_JOB)[:MOST_OVERDUE]
    return [
        Trouble(
            Kind.MISSED,
            str(job.pk),
            pending_due(job) or before,
            job.name or job.task,
            job.tenant_id,
            job.pk,
            job.tags,
            detail={"task": job.task, "cause": cause},
        )
        for job in overdue
    ]


def no_longer_missed(found: Sequence[Incident]) -> list[Incident]:
    """Those whose due time was recorded since, or whose job is to run no more."""
    jobs = Job.objects.filter(pk__in=[one.job_id for one in found]).only("next_run_at", "due_for")
    waits_for = {job.pk: pending_due(job) for job in jobs}
    return [one for one in found if waits_for.get(one.job_id) != one.since]


def what_became(over: Sequence[Incident]) -> dict[UUID, str]:
    """Of due times that are no longer missed: whether they run after all. Found by the ids they must have."""
    of_due_time = {execution_id(one.job_id, one.since, Cause.SCHEDULE): one.pk for one in over}
    rows = Execution.objects.filter(pk__in=list(of_due_time)).values_list("pk", "status", "reason")
    return {
        of_due_time[pk]: f"it was skipped: {reason}" if status == Status.SKIPPED else "it runs late"
        for pk, status, reason in rows
    }


def late(before: datetime, tasks: Iterable[str]) -> list[Waiting]:
    """Executions that could have started so long ago, of each task the most urgent ones.

    Also those that a full executor postpones: that puts off when they may start, again and again.
    """
    found: list[Waiting] = []
    for task in tasks:
        found += [Waiting(*row) for row in Execution.objects.ready(before, [task]).values_list(*OF_A_WAIT)[:MOST_LATE]]
        postponed = Execution.objects.postponed(before, [task]).values_list(*SINCE_RECORDED)
        found += [Waiting(*row) for row in postponed[:MOST_LATE]]
    return found


def still_late(found: Sequence[Incident], before: datetime) -> set[UUID]:
    """Of these, those of whose job something waits on: what they are about, or what was due last by then.

    A job's executions start in turn, so while many wait, the one that was due last is the last of them to start.
    """
    these = Incident.objects.filter(pk__in=[one.pk for one in found])
    due_by_then = Execution.objects.filter(job=OuterRef("job"), pk__lte=highest_id(before)).not_skipped()
    last = dict(these.values_list("pk", Subquery(due_by_then.order_by("-pk").values("pk")[:1])))
    of_each = {one.pk: {one.execution, last.get(one.pk)} for one in found}
    could_start = Q(not_before__lte=before) | Q(attempt=0, recorded_at__lte=before) & ~Q(cause=Cause.BACKFILL)
    rows = Execution.objects.waiting().filter(could_start, pk__in=set().union(*of_each.values()))
    waiting = set(rows.values_list("pk", flat=True))
    return {incident for incident, executions in of_each.items() if executions & waiting}


def unserved(before: datetime, tasks: Iterable[str], serving: Mapping[str, int]) -> dict[str, datetime]:
    """Tasks that no executor serves and whose work has waited so long, each with since when."""
    found = {}
    for task in tasks:
        if not serving.get(task):
            since = Execution.objects.ready(before, [task]).values_list("not_before", flat=True).first()
            if since is not None:
                found[task] = since
    return found


def offered(before: datetime, lost_since: datetime, tasks: Collection[str]) -> set[str]:
    """Those of the tasks whose work has waited so long, or was lost again and again since then."""
    attempts = Attempt.objects.order_by("-pk").values_list("execution__task", "outcome", "finished_at")[:MOST_ATTEMPTS]
    lost = Counter(task for task, outcome, at in attempts if outcome in LOST and at >= lost_since)
    waits = (Execution.objects.ready, Execution.objects.postponed)
    return {
        task for task in tasks if lost[task] >= OFTEN_LOST or any(found(before, [task]).exists() for found in waits)
    }


def failures(cursor: Cursor) -> tuple[list[Failure], bool]:
    """The next that were given up, earliest first, and whether these are all."""
    limit = MOST_FAILED + len(cursor.seen)
    rows = Execution.objects.dead().filter(failed_at__gt=cursor.after).order_by("failed_at")
    found = list(rows.values_list("pk", "failed_at")[:limit])
    # Most were seen by earlier looks: what they are about is not read again.
    new = [pk for pk, at in found if (pk, at) not in cursor.seen]
    told = rows.filter(pk__in=new).values_list(*OF_A_FAILURE)
    return [Failure(*row) for row in told], len(found) < limit


def outcomes(found: Sequence[Incident]) -> tuple[dict[UUID, Outcome], set[UUID]]:
    """How the executions that these are about stand, by their id; and which of these had a later run that completed.

    Not the latest run counts: while one completes, the next may be there already, skipped or running.
    """
    own = Execution.objects.filter(pk__in=[one.execution for one in found]).only("pk", "status", "discarded_at")
    later = Execution.objects.filter(job=OuterRef("job"), pk__gt=OuterRef("execution")).completed()
    since = later.filter(finished_at__gt=OuterRef("last_at")).order_by("-pk").values("pk")[:1]
    these = Incident.objects.filter(pk__in=[one.pk for one in found])
    worked = these.annotate(worked=Subquery(since)).filter(worked__isnull=False)
    return {one.pk: _outcome(one) for one in own}, set(worked.order_by().values_list("pk", flat=True))


def _outcome(one: Execution) -> Outcome:
    return Outcome(Status(one.status), one.discarded_at is not None)
