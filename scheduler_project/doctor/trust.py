"""Whether every secret can be opened and is sealed, and every tenant has somebody to answer for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from accounts.models import Membership, Tenant
from jobs.models import Job
from jobs.redaction import MARK, is_hidden, is_sealed, may_hide, replaced
from jobs.sealing import CannotOpen, get_seal
from scheduler_project.doctor.findings import Finding, error, warning

MOST = 2000  # jobs with a due time ahead, the soonest first: those whose secrets are needed next


def secrets() -> list[Finding]:
    soonest = Job.objects.scheduled().order_by("next_run_at").values_list("pk", "tenant_id", "payload")[:MOST]
    return unusable(soonest.iterator(500))


def unusable(jobs: Iterable[tuple[UUID, UUID, Any]]) -> list[Finding]:
    seal = get_seal()
    closed: list[UUID] = []
    bare: list[UUID] = []
    reason = ""
    for job, tenant, payload in jobs:
        if not may_hide(payload):
            continue
        try:
            seal.opened(payload, tenant)
        except CannotOpen as fault:
            closed.append(job)
            reason = str(fault)
        if _has_bare(payload):
            bare.append(job)
    return [*_closed(closed, reason), *_bare(bare)]


def _has_bare(payload: Any) -> bool:
    found = []

    def look(name: str, value: Any) -> Any:
        if is_sealed(value):
            return None  # seen, and not looked into
        if value != MARK and is_hidden(name, value):
            found.append(name)
        return value

    replaced(payload, look)
    return bool(found)


def _closed(jobs: list[UUID], reason: str) -> list[Finding]:
    if not jobs:
        return []
    fact, _, remedy = reason.partition(". ")
    named = ", ".join(map(str, jobs[:3]))
    return [error("secrets.cannot_be_opened", f"Of {len(jobs):,} job(s), such as {named}: {fact}.", remedy)]


def _bare(jobs: list[UUID]) -> list[Finding]:
    if not jobs:
        return []
    return [
        warning(
            "secrets.unsealed",
            f"{len(jobs):,} job(s), such as {jobs[0]}, have a secret in their payload that is stored as it is.",
            "Save each once more (PATCH its payload, or in the admin): it is sealed then. Change the secret too.",
        )
    ]


def tenants_without_owner() -> list[Finding]:
    owned = Membership.objects.filter(role=Membership.Role.OWNER, user__is_active=True).values("tenant")
    orphans = list(Tenant.objects.exclude(pk__in=owned).order_by("name").values_list("name", flat=True)[:MOST])
    if not orphans:
        return []
    return [
        warning(
            "tenants.without_owner",
            f"{len(orphans):,} tenant(s) have no active owner: {', '.join(orphans[:5])}. Nobody can invite or remove "
            "people there.",
            "Make somebody an owner in the admin, under Memberships.",
        )
    ]
