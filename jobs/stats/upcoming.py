"""Which of a tenant's jobs run next."""

from __future__ import annotations

from accounts.models import Tenant
from jobs.models import Job

SHOWN = 8
FIELDS = ("id", "name", "task", "schedule", "next_run_at", "due_for", "tenant_id", "priority")


def next_runs(scope: Tenant | None, shown: int = SHOWN) -> list[Job]:
    """The jobs that run next, the first one first: by an index, whether of a tenant or of all."""
    jobs = Job.objects.scheduled() if scope is None else Job.objects.scheduled().for_tenant(scope)
    return list(jobs.only(*FIELDS).order_by("next_run_at")[:shown])
