"""Who may send mail, from whom, and how much of it: asked before a job is stored, and again before each mail.

In production a tenant may send once one of its owners has a verified address, so that somebody answers for what it
sends. Superusers count as verified: the operator of the installation created them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from accounts.models import Membership, Tenant

UNVERIFIED = (
    "This tenant may not send mail: none of its owners has a verified email address. An owner verifies theirs on the "
    "dashboard's Account page, or with POST /api/v1/auth/email/verification."
)


class MailRefused(Exception):
    """The tenant may not send mail."""


class MailRights(NamedTuple):
    """What a tenant may send."""

    verified: bool
    senders: list[str]  # addresses, and whole domains as `@example.com`
    rate: int  # recipients an hour; 0: no limit
    answerer: int | None = None  # the owner who answers for it, with all other tenants of theirs
    rate_is_own: bool = False  # set for this tenant; if not, all tenants of the answerer share the rate


def check_may_mail(tenant: UUID) -> None:
    """Raises MailRefused."""
    if settings.MAIL_NEEDS_VERIFIED_OWNER and not _answerable().filter(tenant=tenant).exists():
        raise MailRefused(UNVERIFIED)


def mail_rights(tenants: Collection[UUID]) -> dict[UUID, MailRights]:
    """What each of these tenants may send, in one statement; one that is gone has what the settings say."""
    answerable = not settings.MAIL_NEEDS_VERIFIED_OWNER
    found = Tenant.objects.filter(pk__in=tenants)
    if settings.MAIL_NEEDS_VERIFIED_OWNER:
        # A superuser may own the tenants of many who have nothing to do with each other.
        persons = _answerable().filter(tenant=OuterRef("pk"), user__is_superuser=False).order_by("user")
        found = found.annotate(
            verified=Exists(_answerable().filter(tenant=OuterRef("pk"))), answerer=Subquery(persons.values("user")[:1])
        )
    return {pk: MailRights(verified=answerable, senders=[], rate=settings.MAIL_RATE) for pk in tenants} | {
        tenant.pk: MailRights(
            verified=getattr(tenant, "verified", answerable),
            senders=tenant.senders,
            rate=settings.MAIL_RATE if tenant.mail_rate is None else tenant.mail_rate,
            answerer=getattr(tenant, "answerer", None),
            rate_is_own=tenant.mail_rate is not None,
        )
        for tenant in found.only("senders", "mail_rate")
    }


def unverified(tenants: QuerySet[Tenant]) -> QuerySet[Tenant]:
    """Those that may not send mail where verification is required."""
    return tenants.exclude(Exists(_answerable().filter(tenant=OuterRef("pk"))))


def _answerable() -> QuerySet[Membership]:
    """Owners who answer for what their tenant sends."""
    verified = Q(user__verified_email=F("user__email")) & ~Q(user__email="")
    owners = Membership.objects.filter(role=Membership.Role.OWNER, user__is_active=True)
    return owners.filter(verified | Q(user__is_superuser=True))
