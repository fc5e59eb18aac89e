"""Whether secrets can be opened and are sealed, tenants have an owner, and no account has a well-known password."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts import demo
from accounts.mail_rights import unverified
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


def well_known_password() -> list[Finding]:
    why = demo.exposure()
    if not why or not demo.exists():
        return []
    return [
        error(
            "accounts.well_known_password",
            f"The demo admin has a publicly known password, and others can reach this server: {why}.",
            demo.CHANGE_IT,
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


def mail_without_verified_owner() -> list[Finding]:
    if not settings.MAIL_NEEDS_VERIFIED_OWNER:
        return []
    refused = unverified(Tenant.objects.all()).values("pk")
    waiting = Job.objects.scheduled().filter(task="send_email", tenant__in=refused).order_by("next_run_at")[:MOST]
    names = sorted({job.tenant.name for job in waiting.select_related("tenant").only("tenant__name")})
    if not names:
        return []
    return [
        warning(
            "tenants.mail_unverified",
            f"{len(names):,} tenant(s) have jobs that send mail and no owner with a verified address: "
            f"{', '.join(names[:5])}. Their mails are refused.",
            "Have an owner verify an address on the Account page, or vouch for an owner: "
            "manage.py verify_address <username>.",
        )
    ]
