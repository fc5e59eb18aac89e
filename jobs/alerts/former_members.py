"""Takes the addresses of former members out of alert rules, which would go on to mail them job names and errors.

A rule without any recipient left is switched off. Both are in the audit trail.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.dispatch import receiver

from accounts.models import Membership, User
from accounts.revoking import membership_ended
from jobs.alerts import rules
from jobs.alerts.kinds import Channel
from jobs.models import AlertRule


@receiver(membership_ended)
@transaction.atomic
def withdraw_recipient(user_id: int, tenant_id: UUID | None, **_: Any) -> None:
    address = User.objects.filter(pk=user_id).values_list("email", flat=True).first()
    if not address:
        return
    left = Membership.objects.filter(user=user_id).values("tenant")
    theirs = AlertRule.objects.filter(channel=Channel.EMAIL, tenant__in=left if tenant_id is None else [tenant_id])
    # Compared here: databases do not all search in JSON without regard to case, and a tenant has few rules.
    for rule in theirs.order_by("pk"):
        others = Membership.objects.filter(tenant=rule.tenant_id, user__is_active=True).exclude(user=user_id)
        if others.filter(user__email__iexact=address).exists():
            continue  # two accounts may have one address
        if address.casefold() in {email.casefold() for email in rule.emails}:
            rules.remove_recipient(rule, address)
