"""Which of a tenant's jobs run next.

The index of due times is everybody's. So the jobs that are due first are looked through for the tenant's, and if
too few are, the tenant's newest jobs besides. Each look has a bound: a tenant with more jobs than that, none of which
is among the first, may miss some.
"""

from __future__ import annotations

from accounts.models import Tenant
from jobs.models import Job
from jobs.models.job import JobQuerySet

FIRST = 2_000  # jobs of anybody, that are due first
NEWEST = 2_000  # jobs of the tenant
SHOWN = 8
FIELDS = ("id", "name", "task", "schedule", "next_run_at", "due_for", "tenant_id", "priority")


def next_runs(scope: Tenant | None, shown: int = SHOWN) -> list[Job]:
    """The jobs that run next, the first one first."""
    if scope is None:
        return list(_scheduled().order_by("next_run_at")[:shown])
    first = list(_scheduled().order_by("next_run_at").values_list("pk", "tenant_id")[:FIRST])
    ours = [pk for pk, tenant in first if tenant == scope.pk][:shown]
    if len(ours) == shown or len(first) < FIRST:
        return list(_scheduled().filter(pk__in=ours).order_by("next_run_at"))
    newest = _scheduled().for_tenant(scope).order_by("-id").values_list("pk", "next_run_at")[:NEWEST]
    by_time = sorted(newest, key=lambda row: row[1])[:shown]
    both = _scheduled().filter(pk__in={*ours, *(pk for pk, _ in by_time)})
    return sorted(both, key=lambda job: job.next_run_at)[:shown]


def _scheduled() -> JobQuerySet:
    return Job.objects.scheduled().only(*FIELDS)
