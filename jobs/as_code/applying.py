"""Carries a plan out: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts.models import Tenant, User
from jobs import services
from jobs.as_code.planning import Change, Create, Delete, Update
from jobs.models import Job


def carry_out(changes: Sequence[Change], *, tenant: Tenant, actor: User | None) -> None:
    """Raises what the services raise. A job that was changed since it was planned for is one of their refusals."""
    with transaction.atomic():
        for outcome in services.create_jobs(
            [change.wanted for change in changes if isinstance(change, Create)], tenant=tenant, actor=actor
        ):
            if not isinstance(outcome, Job):
                raise outcome
        for change in changes:
            match change:
                case Update(job, values):
                    services.update_job(job, values, actor=actor, versions=[job.version])
                case Delete(job):
                    services.delete_job(job, actor=actor, versions=[job.version])
