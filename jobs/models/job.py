"""The job: what to run, when, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Tenant, User
from jobs.ids import lowest_id, new_job_id
from jobs.models.listing import Listed, listed_annotations
from jobs.models.term import JobTerm
from jobs.policies import Misfire, Overlap
from jobs.states import JOB_TRANSITIONS, IllegalMove, JobStatus, Priority, choices
from scheduler_project.origin import TRACEPARENT

OF_TASK = "Empty: what the task says."
OF_SETTINGS = "Empty: what the settings say."
CLOCKS_DIFFER = timedelta(seconds=2)  # between the time in a job's id and `created_at`, where not one clock told both


class JobQuerySet(models.QuerySet["Job"]):
    def for_tenant(self, tenant: Tenant) -> JobQuerySet:
        return self.filter(tenant=tenant)

    def kept(self) -> JobQuerySet:
        """Those nobody has deleted. Deleted ones stay, for the sake of their history."""
        return self.filter(deleted_at=None)

    def in_list(self) -> JobQuerySet:
        """As a list shows them: see `jobs.models.listing`."""
        return self.defer(*Job.LONG).annotate(**listed_annotations(*Job.LONG))

    def scheduled(self) -> JobQuerySet:
        """Those that have a due time ahead, or behind and not yet recorded."""
        return self.filter(next_run_at__isnull=False)

    def ended(self) -> JobQuerySet:
        """Those that run no more, and of which no execution is left."""
        over = self.filter(next_run_at=None).filter(
            Q(status__in=(JobStatus.FINISHED, JobStatus.CANCELLED)) | Q(deleted_at__isnull=False)
        )
        return over.filter(executions=None)

    def locked(self) -> JobQuerySet:
        """Held until the transaction ends. With their tenants, whose quotas an act may meet."""
        return self.select_related("tenant").select_for_update(no_key=True, of=("self",))

    def due(self, now: datetime) -> JobQuerySet:
        return self.filter(next_run_at__lte=now)

    def earliest_due(self, now: datetime) -> datetime | None:
        """Since when the job that has been due longest is; None, if none is."""
        return self.due(now).order_by("next_run_at").values_list("next_run_at", flat=True).first()

    def standing(self, status: str) -> JobQuerySet:
        """Those of this status. Whether one is due says the same once more, in the words of the indexes."""
        return self.filter(status=status, next_run_at__isnull=status != JobStatus.ACTIVE)

    def tagged(self, tenant: Tenant, tags: Sequence[str]) -> JobQuerySet:
        """Those with all of these tags."""
        found = self
        for tag in tags:
            found = found.filter(pk__in=JobTerm.objects.of_tag(tenant, tag).values("job"))
        return found

    def called(self, tenant: Tenant, words: Sequence[str]) -> JobQuerySet:
        """Those in whose name some word begins with each of these."""
        found = self
        for word in words:
            found = found.filter(JobTerm.objects.beginning(tenant, word).jobs())
        return found

    def of_kind(
        self, tenant: Tenant, *, task: str | None = None, priority: int | None = None, owner: User | None = None
    ) -> JobQuerySet:
        """Those of a task, a priority or an owner.

        One index has all three, behind the tenant and in this order. To find by the second or the third, every
        value that the ones before it have is named: they are few.
        """
        found = self
        if task is not None:
            found = found.filter(task=task)
        elif priority is not None or owner is not None:
            found = found.filter(task__in=tasks_of(tenant))
        if priority is not None:
            found = found.filter(priority=priority)
        elif owner is not None:
            found = found.filter(priority__in=list(Priority))
        return found if owner is None else found.filter(owner=owner)

    def created_between(self, start: datetime | None, end: datetime | None) -> JobQuerySet:
        """Those created from `start` on and before `end`, found by their ids, which carry that time."""
        found = self
        if start is not None:
            found = found.filter(created_at__gte=start, id__gte=lowest_id(start - CLOCKS_DIFFER))
        if end is not None:
            found = found.filter(created_at__lt=end, id__lt=lowest_id(end + CLOCKS_DIFFER))
        return found

    def next_between(self, start: datetime | None, end: datetime | None) -> JobQuerySet:
        """Those whose next run is due from `start` on, and before `end`."""
        found = self.scheduled()
        if start is not None:
            found = found.filter(next_run_at__gte=start)
        return found if end is None else found.filter(next_run_at__lt=end)


def tasks_of(tenant: Tenant) -> list[str]:
    """The tasks that any job of the tenant has: one look into the index for each, however many jobs there are."""
    tasks: list[str] = []
    further = Job.objects.for_tenant(tenant).order_by("task").values_list("task", flat=True)
    while task := further.filter(task__gt=tasks[-1] if tasks else "").first():
        tasks.append(task)
    return tasks


class Job(Listed, models.Model):
    """The definition. Has `next_run_at` while, and only while, it is active."""

    LONG = ("payload",)

    id = models.UUIDField(primary_key=True, default=new_job_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="jobs", db_index=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="jobs", db_index=False
    )
    name = models.CharField(max_length=200, blank=True)
    task = models.CharField(max_length=100)
    payload = models.JSONField(default=dict, blank=True)
    schedule = models.JSONField(default=dict, blank=True)
    priority = models.PositiveSmallIntegerField(choices=choices(Priority), default=Priority.NORMAL)
    max_retries = models.PositiveSmallIntegerField(null=True, blank=True, help_text=OF_TASK)
    retry_delay = models.FloatField(null=True, blank=True, help_text=f"Seconds before the first retry. {OF_TASK}")
    retry_delay_cap = models.FloatField(
        null=True, blank=True, help_text=f"Seconds before any retry, at most. {OF_TASK}"
    )
    time_limit = models.FloatField(null=True, blank=True, help_text=f"Seconds an attempt may take. {OF_TASK}")
    lease = models.FloatField(
        null=True, blank=True, help_text=f"Seconds after which a silent worker is taken for lost. {OF_TASK}"
    )
    misfire = models.CharField(
        max_length=10,
        choices=choices(Misfire),
        default=Misfire.RUN_ONCE,
        help_text="What becomes of due times that nobody looked at in time: skip them, run one late, or catch up.",
    )
    catch_up_window = models.PositiveIntegerField(
        null=True, blank=True, help_text=f"Seconds: older due times are not caught up on. {OF_SETTINGS}"
    )
    catch_up_max = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=f"Due times caught up on at once, at most. {OF_SETTINGS}"
    )
    overlap = models.CharField(  # noqa: DJ001 - the API's null, and none of the choices
        max_length=15,
        choices=choices(Overlap),
        null=True,
        blank=True,
        help_text="What happens when a due time comes and the run before it is not over. "
        "Empty: skip for recurring jobs, allow for others.",
    )
    # To be shown; what is searched are its terms. The database has a default for releases that do not know of it.
    tags = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), blank=True)

    status = models.CharField(max_length=10, choices=choices(JobStatus), default=JobStatus.ACTIVE)
    next_run_at = models.DateTimeField(null=True, blank=True, editable=False)
    due_for = models.DateTimeField(null=True, editable=False)  # that run's due time, where it starts later than that
    runs = models.PositiveIntegerField(default=0, editable=False)  # made by the present schedule
    latest = models.UUIDField(null=True, editable=False)  # the execution its schedule made last, of those meant to run
    leased_until = models.DateTimeField(null=True, editable=False)  # the database's due index keeps its leases here
    # Whether it has executions of another task or priority.
    rerouted = models.BooleanField(default=False, db_default=False, editable=False)
    # The request that created it. What came of it on a schedule tells this one in its lines.
    request_id = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001 - not all are made by one
    traceparent = models.CharField(max_length=TRACEPARENT, null=True, editable=False)  # noqa: DJ001 - where that was traced
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        permissions = [("operate_job", "Can run, pause, resume, cancel and backfill jobs")]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="jobs_of_a_tenant", condition=Q(deleted_at=None)),
            models.Index(  # a tenant's runs to come, and how many they are
                fields=["tenant", "next_run_at"], name="due_jobs_of_a_tenant", condition=Q(next_run_at__isnull=False)
            ),
            models.Index(fields=["next_run_at"], name="jobs_by_due_time", condition=Q(next_run_at__isnull=False)),
            # A job that is due again is written to every index it is in, so there is one of these for all three.
            models.Index(fields=["tenant", "task", "priority", "owner"], name="jobs_by_kind"),
            models.Index(fields=["tenant", "status", "-id"], name="jobs_at_rest", condition=Q(next_run_at=None)),
            models.Index(fields=["tenant"], name="jobs_rerouted", condition=Q(rerouted=True)),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(next_run_at=None) | Q(status=JobStatus.ACTIVE, deleted_at=None),
                name="only_active_jobs_are_due",
            )
        ]

    def __str__(self) -> str:
        return self.name or f"{self.task} {self.id}"

    def pause(self) -> None:
        """Make no more executions until resumed."""
        self._move(JobStatus.PAUSED, next_run_at=None)

    def resume(self, next_run_at: datetime | None, due_for: datetime | None = None) -> None:
        """Go on from `next_run_at`; without one there is nothing left to do."""
        status = JobStatus.ACTIVE if next_run_at else JobStatus.FINISHED
        self._move(status, next_run_at=next_run_at, due_for=due_for)

    def cancel(self) -> None:
        """Never make an execution again."""
        self._move(JobStatus.CANCELLED, next_run_at=None)

    def delete_softly(self, now: datetime) -> None:
        """Disappear from every list but the history."""
        self._change(deleted_at=now, next_run_at=None)

    def edit(self, next_run_at: datetime | None, **changes: Any) -> None:
        """Take on changed fields. A job that had run out of due times and now has one is active again."""
        status = self.status
        if status in (JobStatus.ACTIVE, JobStatus.FINISHED):
            status = JobStatus.ACTIVE if next_run_at else JobStatus.FINISHED
        self._change(status=status, next_run_at=next_run_at, **changes)

    def check_move(self, target: JobStatus) -> None:
        """Raise IllegalMove where the job cannot become this."""
        if target not in JOB_TRANSITIONS[JobStatus(self.status)]:
            raise IllegalMove(f"A job that is {self.status} cannot become {target}.")

    def _move(self, target: JobStatus, **changes: Any) -> None:
        self.check_move(target)
        self._change(status=target, **changes)

    def _change(self, **changes: Any) -> None:
        """Write `changes` in one guarded UPDATE, so that of two rivals one loses loudly."""
        changes |= {"version": self.version + 1, "updated_at": timezone.now(), "leased_until": None}
        if not Job.objects.kept().filter(pk=self.pk, version=self.version).update(**changes):
            raise IllegalMove("The job was changed by somebody else meanwhile. Read it again and repeat.")
        for name, value in changes.items():
            setattr(self, name, value)
