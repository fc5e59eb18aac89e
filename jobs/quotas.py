"""How much a tenant may have: active jobs, bytes of a payload, executions a day.

Asked where jobs and runs are made, so the API, the admin and bulk calls obey alike. A tenant without a quota costs
nothing. With one, the tenant's row is locked for the rest of the transaction, so that of two who take the last place
one does, and what is there is counted along an index, no further than the quota itself.

Only what people ask for is refused: a run by hand, a backfill, a replay, a new job that is due today. What a schedule
makes is counted, but goes on: a job that was accepted runs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from pydantic_core import to_json

from accounts.models import Tenant
from accounts.quota import QuotaExceeded, take_turn
from jobs.models import AuditEvent, Execution, Job
from jobs.states import Cause

DAY = timedelta(days=1)


def check_payload(tenant: Tenant, payload: Any) -> None:
    """Raises QuotaExceeded for a payload that is larger than the tenant's may be."""
    limit = _limit(tenant.max_payload_bytes, settings.MAX_PAYLOAD_BYTES)
    if limit and (size := len(to_json(payload))) > limit:
        raise QuotaExceeded(
            "payload_bytes", limit=limit, used=0, wanted=size, remedy="Send less, or a reference to it."
        )


class Room:
    """What is left of a tenant's quotas; counted when it is first asked for, and then by hand.

    Use it in the transaction that stores what it gives room to.
    """

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._most_active = _limit(tenant.max_active_jobs, settings.MAX_ACTIVE_JOBS)
        self._most_runs = _limit(tenant.max_executions_a_day, settings.MAX_EXECUTIONS_A_DAY)
        self._active: int | None = None
        self._runs: int | None = None

    def take_place(self) -> None:
        """For one more active job. Raises QuotaExceeded."""
        limit = self._most_active
        if not limit:
            return
        if self._active is None:
            self._active = _active(self._tenant, limit)
        if self._active >= limit:
            remedy = "Pause, cancel or delete one, or ask for a larger quota."
            raise QuotaExceeded("active_jobs", limit=limit, used=self._active, remedy=remedy)
        self._active += 1

    def take_runs(self, count: int, *, now: datetime) -> None:
        """For so many more executions today. Raises QuotaExceeded."""
        limit = self._most_runs
        if not limit:
            return
        if self._runs is None:
            self._runs = _runs_today(self._tenant, now, limit)
        if self._runs + count > limit:
            remedy = "Wait until the day is over in UTC, or ask for a larger quota."
            left = _today(now) + DAY - now
            raise QuotaExceeded(
                "executions_a_day", limit=limit, used=self._runs, wanted=count, remedy=remedy, again_in=left
            )
        self._runs += count


def admit(outcomes: list[Any], *, tenant: Tenant, now: datetime) -> list[Job]:
    """The new jobs among `outcomes` that the tenant has room for, in their order; the others give way to the refusal.

    Call it in the transaction that stores them.
    """
    room = Room(tenant)
    tomorrow = _today(now) + DAY
    for place, job in enumerate(outcomes):
        if isinstance(job, Job):
            try:
                check_payload(tenant, job.payload)
                if job.next_run_at is not None and job.next_run_at < tomorrow:
                    room.take_runs(1, now=now)
                if job.next_run_at is not None:
                    room.take_place()
            except QuotaExceeded as error:
                outcomes[place] = error
    return [outcome for outcome in outcomes if isinstance(outcome, Job)]


def check_change(job: Job, changes: dict[str, Any], next_run_at: datetime | None, *, now: datetime) -> None:
    """Raises QuotaExceeded for a payload too large, one active job or one run too many. Call it as `admit`."""
    if "payload" in changes:
        check_payload(job.tenant, changes["payload"])
    if next_run_at is None:
        return
    room, tomorrow = Room(job.tenant), _today(now) + DAY
    counted_today = job.next_run_at is not None and job.next_run_at < tomorrow
    if next_run_at < tomorrow and not counted_today:  # otherwise one could be run again and again by changing it
        room.take_runs(1, now=now)
    if job.next_run_at is None:
        room.take_place()


def _limit(own: int | None, otherwise: int) -> int:
    return otherwise if own is None else own


def _active(tenant: Tenant, limit: int) -> int:
    take_turn(tenant)
    return Job.objects.for_tenant(tenant).scheduled().order_by()[: limit + 1].count()


def _runs_today(tenant: Tenant, now: datetime, limit: int) -> int:
    """What was recorded for today, what was backfilled and replayed today, and jobs with a start still to come today.

    The due times of a backfill are past, and so are those of most replays. The audit trail has the number of both by
    the day on which they were asked for; no index of executions has that day.
    """
    take_turn(tenant)
    today = _today(now)
    own = Execution.objects.for_tenant(tenant).not_skipped()
    recorded = own.due_between(today, today + DAY).exclude(cause=Cause.BACKFILL)
    ahead = Job.objects.for_tenant(tenant).due(today + DAY - datetime.resolution)
    asked_for = AuditEvent.objects.filter(tenant=tenant, action__in=("backfill", "replay"), at__gte=today).order_by()
    counts = asked_for.values_list("after__count", flat=True)[: limit + 1]
    return sum(counts) + sum(found.order_by()[: limit + 1].count() for found in (recorded, ahead))


def _today(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
