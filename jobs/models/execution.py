"""The execution: one run of a job for one due time, and the history of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, models
from django.db.models import Case, F, Func, GeneratedField, OuterRef, Q, Subquery, Value, When
from pydantic_core import to_json

from accounts.models import Tenant
from jobs.fingerprints import LENGTH
from jobs.ids import highest_id, lowest_id
from jobs.models.cohort import Cohort, CohortQuerySet
from jobs.models.job import Job, JobQuerySet
from jobs.models.listing import Listed, listed_annotations
from jobs.models.term import JobTerm, is_one_of
from jobs.states import (
    CLAIMABLE,
    FINAL,
    UNFINISHED,
    Cause,
    IllegalMove,
    JobStatus,
    Priority,
    Status,
    choices,
)
from scheduler_project.origin import NOBODY, TRACEPARENT, Origin

if TYPE_CHECKING:
    from jobs.models.attempt import Attempt

RARE = (Status.FAILED, Status.SKIPPED, Status.CANCELLED, Status.RETRYING)  # entered by few executions
DEAD = Q(shelf=Status.FAILED, discarded_at=None)
# On the way that nearly all take, recorded, run and completed, no column changes that an index has: PostgreSQL then
# writes the new version of a row beside the old one, and to no index.
STRAIGHT = Q(fresh=True, status__in=(Status.SCHEDULED, Status.RUNNING))
MAX_ATTEMPTS_SHOWN = 100  # as many as one round of retries may have; a traceback has up to 32,000 characters
MAX_COPIED = 64 * 1024 * 1024  # bytes of payloads that one act gives to executions, each of which keeps a copy
MOST_JOBS = 500  # that executions are looked for through: of more, some execution comes along soon enough


class FewJobs(NamedTuple):
    """Jobs that executions are looked for through."""

    ids: set[UUID]
    rerouted: bool  # some may have executions of another task or priority too


def few_jobs(
    tenant: Tenant, *, task: str | None = None, priority: int | None = None, tags: Sequence[str] = ()
) -> FewJobs | None:
    """All jobs that executions of a task, a priority or tags can be of; None, if they are too many to look through.

    No index of executions knows any of these: every move of every execution would be a write to it. But jobs are found
    by them, and executions by their jobs. An execution has its task and priority from its job as that was then, so
    jobs that were given others since are always among them.
    """
    tagged = Job.objects.for_tenant(tenant).tagged(tenant, tags)
    found = set(_some(tagged.of_kind(tenant, task=task, priority=priority)))
    rerouted = set() if task is None and priority is None else set(_some(tagged.filter(rerouted=True)))
    ids = found | rerouted
    return FewJobs(ids, bool(rerouted)) if len(ids) <= MOST_JOBS else None


def _some(jobs: JobQuerySet) -> Iterable[UUID]:
    # In some order, or PostgreSQL reads the table from its beginning, where it takes these for common.
    return jobs.order_by("-pk").values_list("pk", flat=True)[: MOST_JOBS + 1]


class ExecutionQuerySet(models.QuerySet["Execution"]):
    # How `through` was asked. Whatever narrows the result down further forgets it, and loses speed, not rows.
    _through: tuple[ExecutionQuerySet, Collection[UUID]] | None = None

    def for_tenant(self, tenant: Tenant) -> ExecutionQuerySet:
        return self.filter(tenant=tenant)

    def in_list(self) -> ExecutionQuerySet:
        """As a list shows them: see `jobs.models.listing`. What they were given is not shown there."""
        return self.defer("payload", *Execution.LONG).annotate(**listed_annotations(*Execution.LONG))

    def unfinished(self) -> ExecutionQuerySet:
        return self.filter(status__in=UNFINISHED)

    def finished(self) -> ExecutionQuerySet:
        return self.filter(status__in=FINAL)

    def waiting(self) -> ExecutionQuerySet:
        """Those no worker holds yet."""
        return self.filter(status__in=CLAIMABLE)

    def not_skipped(self) -> ExecutionQuerySet:
        return self.exclude(status=Status.SKIPPED)

    def completed(self) -> ExecutionQuerySet:
        return self.filter(status=Status.COMPLETED)

    def held(self) -> ExecutionQuerySet:
        """Those a worker holds now."""
        return self.filter(status=Status.RUNNING).looked_after()

    def looked_after(self) -> ExecutionQuerySet:
        """Those that are not over, by the lists of what is to be looked at. Some that just ended are among them."""
        return self._listed(Q(look_at__isnull=False), Cohort.objects.all())

    def stalled(self, now: datetime) -> ExecutionQuerySet:
        """Those that should have moved by now, whoever is to look at them, the one that has waited longest first."""
        found = self._listed(Q(look_at__lte=now), Cohort.objects.filter(look_at__lte=now))
        return found.filter(wake_at__lte=now).order_by("wake_at")

    def _listed(self, by_themselves: Q, cohorts: CohortQuerySet) -> ExecutionQuerySet:
        if connection.vendor == "sqlite":  # which has no cohorts
            return self.filter(by_themselves)
        return self.filter(by_themselves | Q(is_one_of(cohorts.members())))

    def dead(self) -> ExecutionQuerySet:
        """The dead letters: failed for good, and nobody has replayed or discarded them yet."""
        return self.filter(DEAD)

    def forgettable(self) -> ExecutionQuerySet:
        """History and nothing else: over, and no dead letter."""
        return self.finished().exclude(status=Status.FAILED, discarded_at=None)

    def due_between(self, start: datetime | None, end: datetime | None) -> ExecutionQuerySet:
        """Those due from `start` on, and before `end`; what is None is no bound."""
        found = self
        # By their ids too, which carry the due time: that is what indexes are sorted by.
        if start is not None:
            found = found.filter(pk__gte=lowest_id(start), due_at__gte=start)
        if end is not None:
            found = found.filter(pk__lte=highest_id(end), due_at__lt=end)
        return found

    def replayable(self) -> ExecutionQuerySet:
        """The dead ones that may run again: a job that was cancelled or deleted never does."""
        return self.dead().filter(job__deleted_at=None).exclude(job__status=JobStatus.CANCELLED)

    def ready(self, now: datetime, tasks: Collection[str], but_not: Collection[UUID] = ()) -> ExecutionQuerySet:
        """Those an executor of `tasks` may claim now, most urgent first; but not what a broker has had for moments.

        Executions of the tenants in `but_not` are left out.
        """
        free = self.filter(shelf__in=sorted(CLAIMABLE), waits_for=None, not_before__lte=now, task__in=tasks)
        return (free.exclude(tenant__in=but_not) if but_not else free).order_by("-priority", "not_before")

    def postponed(self, before: datetime, tasks: list[str]) -> ExecutionQuerySet:
        """Those of `tasks` that could have started by `before`, and that a full executor has postponed beyond it.

        Nothing else changes `not_before` ahead of the first attempt. Only executions of a backfill are recorded long
        before they may start.
        """
        moved = self.filter(shelf__in=sorted(CLAIMABLE), waits_for=None, attempt=0, recorded_at__lte=before)
        # With the priorities, the index of what is ready is read from `before` on, and not from its beginning.
        moved = moved.filter(task__in=tasks, priority__in=list(Priority), not_before__gt=before)
        return moved.exclude(cause=Cause.BACKFILL).exclude(status=Status.RETRYING)

    def in_line(self) -> ExecutionQuerySet:
        """Those that wait for another one to be over."""
        return self.filter(shelf=Status.SCHEDULED, waits_for__isnull=False)

    def overdue(self, now: datetime) -> ExecutionQuerySet:
        """Those that stand for themselves and should have moved by now: something went wrong, or nobody has started."""
        return self.filter(look_at__lte=now).order_by("look_at")

    def standing(self, status: str) -> ExecutionQuerySet:
        """Those of this status.

        The rare ones have an index each, which the others never write to. What is unfinished is looked after, and of
        what completed there is always some nearby.
        """
        if status in RARE:
            return self.filter(shelf=status)
        found = self.filter(status=status)
        return found.looked_after() if status in UNFINISHED else found

    def caused_by(self, cause: str) -> ExecutionQuerySet:
        found = self.filter(cause=cause)
        # Said once more in the words of the index, which has only what no schedule made.
        return found if cause == Cause.SCHEDULE else found.exclude(cause=Cause.SCHEDULE)

    def tagged(self, tenant: Tenant, tags: Sequence[str]) -> ExecutionQuerySet:
        """Those of jobs that have all of these tags now."""
        found = self
        for tag in tags:
            found = found.filter(job__in=JobTerm.objects.of_tag(tenant, tag).values("job"))
        return found

    def of_kind(
        self, tenant: Tenant, *, task: str | None = None, priority: int | None = None, tags: Sequence[str] = ()
    ) -> ExecutionQuerySet:
        """Those of a task, a priority or jobs with tags: through their jobs, where these are few."""
        wanted = {"task": task, "priority": priority}
        kind = {name: value for name, value in wanted.items() if value is not None}
        few = few_jobs(tenant, task=task, priority=priority, tags=tags)
        if few is None:
            return self.filter(**kind).tagged(tenant, tags)
        # Of jobs that have never been of another kind, no execution is.
        return (self.filter(**kind) if few.rerouted else self).through(few.ids)

    def through(self, jobs: Collection[UUID]) -> ExecutionQuerySet:
        """Those of these few jobs, for `nearest` to look through one by one."""
        found = self.filter(job__in=jobs)
        found._through = self, jobs
        return found

    def nearest(self, most: int, *, after: UUID | None = None, backwards: bool = False) -> ExecutionQuerySet:
        """What the first `most` rows after a place in the list are among, latest first, or before it with `backwards`.

        Of few jobs, that many are taken of each, by the index of a job's executions. Left to choose, PostgreSQL guesses
        that a job has as many executions as any other, and may pass all that there are to find those of one.
        """
        if self._through is None or connection.vendor == "sqlite":
            return self
        wide, jobs = self._through
        bound = {} if after is None else {"id__gt" if backwards else "id__lt": after}
        of_each = wide.filter(job=OuterRef("pk"), **bound).order_by("id" if backwards else "-id").values("pk")[:most]
        unnested = Func(ArraySubquery(of_each), function="unnest", output_field=models.UUIDField())
        rows = Job.objects.filter(pk__in=jobs).order_by().values(near=unnested)
        return Execution.objects.filter(is_one_of(rows))

    def latest_of(self, jobs: Sequence[Job]) -> dict[UUID, Execution]:
        """The execution of the latest due time of each of these jobs that has any, in one statement."""
        latest = Execution.objects.filter(job=OuterRef("pk")).order_by("-id").values("pk")[:1]
        theirs = Job.objects.filter(pk__in=[job.pk for job in jobs]).values(latest_of=Subquery(latest))
        return {one.job_id: one for one in self.filter(pk__in=theirs)}

    def cancel(self, reason: str, now: datetime) -> None:
        """Cancel every one that no worker holds, and ask for it where one does.

        Call it in a transaction that holds their jobs' locks, so that nobody joins a line that others leave.
        """
        # Locked in the order of ids, as every batch is, so that none can wait for another.
        unfinished = self.unfinished().order_by("pk").select_for_update(no_key=True, of=("self",))
        found = list(unfinished.only("job_id", "waits_for"))
        these = Execution.objects.filter(pk__in=[one.pk for one in found])
        these.waiting().update(status=Status.CANCELLED, reason=reason, finished_at=now, wake_at=None)
        these.filter(status=Status.RUNNING).update(cancel_requested_at=now, reason=reason)
        if leaving := {one.pk: one for one in found if one.waits_for}:
            _close_ranks(leaving, now)

    def replay(self, now: datetime, payload: Any = None, origin: Origin = NOBODY) -> list[Execution]:
        """Have dead ones run again, with `payload` if there is one; return those. Call it in a transaction.

        Their lines and spans tell from now on the request that asked for it, if one did.

        The attempts made so far are forgiven, not forgotten: their number is the fencing token, and
        a worker that returns from before the replay must not pass for the new one.
        """
        replayed = self.replayable()._locked()
        changes = {} if payload is None else {"payload": payload}
        if origin != NOBODY:
            changes |= origin._asdict()
        Execution.objects.filter(pk__in=[one.pk for one in replayed]).update(
            status=Status.SCHEDULED,
            forgiven=F("attempt"),
            not_before=now,
            wake_at=now,  # overdue from the start: the recoverer is what sends it
            finished_at=None,
            error="",
            fingerprint=None,
            **changes,
        )
        return replayed

    def discard(self, now: datetime, reason: str) -> list[Execution]:
        """Let dead ones go; return those. They stay as history. Call it in a transaction."""
        discarded = self.dead()._locked()
        # Nothing is left to be done for them, not even to be buried.
        Execution.objects.filter(pk__in=[one.pk for one in discarded]).update(
            discarded_at=now, reason=reason, wake_at=None
        )
        return discarded

    def _locked(self) -> list[Execution]:
        """These rows, as far as an act on them needs to know them, locked in the order of ids."""
        return list(self.order_by("pk").select_for_update(no_key=True, of=("self",)).only("job_id", "tenant_id"))

    def keep_payload(self, payload: Any, *, dead: bool = False) -> None:
        """Have unfinished ones keep the payload they were recorded with. Call it in a transaction.

        With `dead`, dead letters too. Raises IllegalMove for more than one act may store.
        """
        which = Q(status__in=UNFINISHED) | DEAD if dead else Q(status__in=UNFINISHED)
        kept = self.filter(which, payload__isnull=True).order_by("pk").select_for_update(no_key=True)
        ids = list(kept.values_list("pk", flat=True))
        if len(ids) * (size := len(to_json(payload))) > MAX_COPIED:
            raise IllegalMove(
                f"{len(ids):,} executions {'wait or are dead letters' if dead else 'wait'}, and each would keep a copy "
                f"of the present payload ({size:,} bytes). Wait until they have run, or cancel "
                f"{'or discard ' if dead else ''}them, and repeat."
            )
        Execution.objects.filter(pk__in=ids).update(payload=payload)


def _close_ranks(leaving: dict[UUID, Execution], now: datetime) -> None:
    """Have those behind the ones that leave the line wait for what these waited for: that still goes on."""

    def ahead_of(place: UUID) -> UUID:
        while place in leaving:
            place = leaving[place].waits_for
        return place

    jobs = {one.job_id for one in leaving.values()}
    behind = list(Execution.objects.in_line().filter(job__in=jobs, waits_for__in=leaving).only("waits_for", "wake_at"))
    for one in behind:
        one.waits_for, one.wake_at = ahead_of(one.waits_for), now
    Execution.objects.bulk_update(behind, ["waits_for", "wake_at"])
    their_jobs = list(Job.objects.filter(pk__in=jobs, latest__in=leaving).only("latest"))
    for job in their_jobs:
        job.latest = ahead_of(job.latest)
    Job.objects.bulk_update(their_jobs, ["latest"])


class Execution(Listed, models.Model):
    """One due time of a job. Its id is derived from both (see `jobs.ids`), so it exists once.

    Until it is finished it carries `wake_at`: the moment when, if nothing has happened, something
    is wrong. `attempt` counts claims and is the fencing token of the worker that holds it.
    """

    LONG = ("result",)

    id = models.UUIDField(primary_key=True, editable=False)
    # No constraints: they would look up both rows for every execution. It is recorded in the transaction that holds
    # its job's lock, and neither jobs nor tenants with history are ever deleted.
    job = models.ForeignKey(Job, models.PROTECT, related_name="executions", db_index=False, db_constraint=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="executions", db_index=False, db_constraint=False)
    task = models.CharField(max_length=100)
    priority = models.PositiveSmallIntegerField(choices=choices(Priority))
    cause = models.CharField(max_length=10, choices=choices(Cause), default=Cause.SCHEDULE)
    status = models.CharField(max_length=10, choices=choices(Status), default=Status.SCHEDULED)
    attempt = models.PositiveIntegerField(default=0)
    forgiven = models.PositiveIntegerField(default=0)  # attempts that do not count: given back, or before a replay
    payload = models.JSONField(null=True)  # only where it differs from the job's: kept when the job is edited
    due_at = models.DateTimeField()
    not_before = models.DateTimeField()  # due time, or the time of the next retry
    waits_for = models.UUIDField(null=True)  # the execution that must be over first
    wake_at = models.DateTimeField(null=True)
    recorded_at = models.DateTimeField()
    queued_at = models.DateTimeField(null=True)  # when the broker was known to have it: at the claim, at the latest
    started_at = models.DateTimeField(null=True)  # of the latest attempt
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)  # while running: ends as cancelled unless it completes
    worker = models.CharField(max_length=100, blank=True, default="")
    result = models.JSONField(null=True)
    error = models.TextField(blank=True, default="")  # the latest attempt's, in one line
    # Of one that failed for good: what its error has in common with others (see `jobs.fingerprints`).
    fingerprint = models.CharField(max_length=LENGTH, null=True)  # noqa: DJ001 - most never have one
    discarded_at = models.DateTimeField(null=True)  # of a dead letter: a person has let it go
    reason = models.CharField(max_length=300, blank=True, default="")  # why it was skipped, cancelled or discarded
    # The request that asked for this very run, or for its replay; else its job's counts.
    request_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - most are made by a schedule
    traceparent = models.CharField(max_length=TRACEPARENT, null=True)  # noqa: DJ001 - where that request was traced
    covers_until = models.DateTimeField(null=True)  # of a skipped one: so was every due time up to this one

    # Its cohort stands for it where it is looked for, as long as there is one. Then it stands for itself, unless it has
    # completed. With PostgreSQL a trigger keeps the other three: to add a generated column is to write all rows anew.
    fresh = models.BooleanField(default=False, db_default=False, editable=False)
    shelf = GeneratedField(  # the status, where it is looked for by that
        expression=Case(When(STRAIGHT | Q(status=Status.COMPLETED), then=Value(None)), default=F("status")),
        output_field=models.CharField(max_length=10, null=True),
        db_persist=True,
    )
    look_at = GeneratedField(  # when to wake it, where it stands for itself
        expression=Case(When(STRAIGHT, then=Value(None)), default=F("wake_at")),
        output_field=models.DateTimeField(null=True),
        db_persist=True,
    )
    failed_at = GeneratedField(  # when it was given up
        expression=Case(When(status=Status.FAILED, then=F("finished_at"))),
        output_field=models.DateTimeField(null=True),
        db_persist=True,
    )

    objects = ExecutionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        permissions = [("operate_execution", "Can cancel, replay and discard executions")]
        indexes = [
            models.Index(fields=["job", "-id"], name="executions_of_a_job"),
            models.Index(fields=["tenant", "-id"], name="executions_of_a_tenant"),
            models.Index(fields=["tenant", "-id"], name="shelf_dead", condition=DEAD),
            # All that a count by cause asks for, so that it reads no rows.
            models.Index(
                fields=["tenant", "fingerprint", "-id"],
                include=["task", "failed_at"],
                name="shelf_dead_by_cause",
                condition=DEAD,
            ),
            # What has failed since somebody last looked.
            models.Index(fields=["failed_at"], name="shelf_dead_by_time", condition=DEAD),
            *(
                models.Index(fields=["tenant", "-id"], name=f"shelf_{status.lower()}", condition=Q(shelf=status))
                for status in RARE
            ),
            models.Index(
                fields=["tenant", "cause", "-id"], name="executions_asked_for", condition=~Q(cause=Cause.SCHEDULE)
            ),
            models.Index(fields=["look_at"], name="shelf_to_look_at", condition=Q(look_at__isnull=False)),
            models.Index(
                fields=["task", "-priority", "not_before"],
                name="shelf_ready",
                condition=Q(shelf__in=sorted(CLAIMABLE), waits_for=None),
            ),
            models.Index(
                fields=["job", "waits_for"],
                name="shelf_in_line",
                condition=Q(shelf=Status.SCHEDULED, waits_for__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task} due {self.due_at:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def explanation(self) -> str:
        """Why the execution has its status. An error is not the reason for a cancelled or skipped execution."""
        if self.status in (Status.CANCELLED, Status.SKIPPED):
            return self.reason or self.error
        return self.error or self.reason

    @property
    def latest_attempts(self) -> list[Attempt]:
        """Return the latest unsuccessful attempts, oldest first. Replays make any number of them."""
        return list(self.attempts.order_by("-number")[:MAX_ATTEMPTS_SHOWN])[::-1]

    @property
    def effective_payload(self) -> Any:
        """What the handler is given: its own payload where the job was edited since, else the job's."""
        return self.job.payload if self.payload is None else self.payload
