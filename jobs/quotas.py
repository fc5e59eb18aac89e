"""How much a tenant may have: active jobs, bytes of a payload, executions a day.

Asked where jobs and runs are made, so the API, the admin and bulk calls obey alike. A tenant without a quota costs
nothing. With one, the tenant's row is locked for the rest of the transaction, so that of two who take the last place
one does, and what is there is counted along an index, no further than the quota itself.

Only what people ask for is refused: a run by hand, a backfill, a new job that is due today. What a schedule makes is
counted, but goes on: a job that was accepted runs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from pydantic_core import to_json

from accounts.models import Tenant
from accounts.quota import QuotaExceeded
from jobs.models import Execution, Job

DAY = timedelta(days=1)


def check_payload(tenant: Tenant, payload: Any) -> None:
    """Raises QuotaExceeded for a payload that is larger than the tenant's may be."""
    limit = _limit(tenant.max_payload_bytes, settings.MAX_PAYLOAD_BYTES)
    if limit and (size := len(to_json(payload))) > limit:
        raise QuotaExceeded(
            "payload_bytes", limit=limit, used=0, wanted=size, remedy="Send less, or a reference to it."
        )


def admit(outcomes: list[Any], *, tenant: Tenant, now: datetime) -> list[Job]:
    """The new jobs among `outcomes` that the tenant has room for, in their order; the others give way to the refusal.

    Call it in the transaction that stores them.
    """
    room = Room(tenant, now)
    for place, job in enumerate(outcomes):
        if room.limited and isinstance(job, Job):
            try:
                check_payload(tenant, job.payload)
                room.take(job.next_run_at)
            except QuotaExceeded as error:
                outcomes[place] = error
    return [outcome for outcome in outcomes if isinstance(outcome, Job)]


def check_change(job: Job, changes: dict[str, Any], next_run_at: datetime | None) -> None:
    """Raises QuotaExceeded for a payload too large, or one active job too many. Call it as `admit`."""
    if "payload" in changes:
        check_payload(job.tenant, changes["payload"])
    if next_run_at is not None and job.next_run_at is None:
        check_active(job.tenant)


def check_runs(tenant: Tenant, count: int, *, now: datetime) -> None:
    """Raises QuotaExceeded if so many runs more are too many for today. Call it as `admit`."""
    limit = _limit(tenant.max_executions_a_day, settings.MAX_EXECUTIONS_A_DAY)
    if limit:
        _lock(tenant)
        _check_runs(limit, _runs_today(tenant, now, limit), count, now)


def check_active(tenant: Tenant) -> None:
    """Raises QuotaExceeded if the tenant has no room for one more active job. Call it as `admit`."""
    limit = _limit(tenant.max_active_jobs, settings.MAX_ACTIVE_JOBS)
    if limit:
        _lock(tenant)
        _check_active(limit, _active(tenant, limit))


class Room:
    """What is left of a tenant's quotas while several jobs are made; counted once."""

    def __init__(self, tenant: Tenant, now: datetime) -> None:
        self._now = now
        self._most_active = _limit(tenant.max_active_jobs, settings.MAX_ACTIVE_JOBS)
        self._most_runs = _limit(tenant.max_executions_a_day, settings.MAX_EXECUTIONS_A_DAY)
        self.limited = bool(
            self._most_active or self._most_runs or _limit(tenant.max_payload_bytes, settings.MAX_PAYLOAD_BYTES)
        )
        if self._most_active or self._most_runs:
            _lock(tenant)
        self._active = _active(tenant, self._most_active) if self._most_active else 0
        self._runs = _runs_today(tenant, now, self._most_runs) if self._most_runs else 0

    def take(self, start_at: datetime | None) -> None:
        """Count one more job that starts then. Raises QuotaExceeded."""
        if start_at is None:
            return
        today = start_at < _tomorrow(self._now)
        if self._most_active:
            _check_active(self._most_active, self._active)
        if self._most_runs and today:
            _check_runs(self._most_runs, self._runs, 1, self._now)
        self._active += 1
        self._runs += today


def _limit(own: int | None, otherwise: int) -> int:
    return otherwise if own is None else own


def _lock(tenant: Tenant) -> None:
    # Not the whole row: whoever stores a job only needs to know that the tenant stays.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant.pk)


def _active(tenant: Tenant, limit: int) -> int:
    return Job.objects.for_tenant(tenant).scheduled().order_by()[: limit + 1].count()


def _runs_today(tenant: Tenant, now: datetime, limit: int) -> int:
    """What was recorded for today, and the jobs whose next start is still to come today."""
    today = _today(now)
    recorded = Execution.objects.for_tenant(tenant).due_between(today, today + DAY).not_skipped()
    ahead = Job.objects.for_tenant(tenant).due(today + DAY - datetime.resolution)
    return recorded.order_by()[: limit + 1].count() + ahead.order_by()[: limit + 1].count()


def _check_active(limit: int, used: int) -> None:
    if used >= limit:
        remedy = "Pause, cancel or delete one, or ask for a larger quota."
        raise QuotaExceeded("active_jobs", limit=limit, used=used, remedy=remedy)


def _check_runs(limit: int, used: int, wanted: int, now: datetime) -> None:
    if used + wanted > limit:
        remedy = "Wait until the day is over in UTC, or ask for a larger quota."
        raise QuotaExceeded(
            "executions_a_day", limit=limit, used=used, wanted=wanted, remedy=remedy, again_in=_tomorrow(now) - now
        )


def _today(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _tomorrow(now: datetime) -> datetime:
    return _today(now) + DAY
