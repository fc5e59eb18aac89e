"""The invitation: that whoever has an address may join a tenant."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.people import Membership, Tenant, User, owned_by


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def for_tenant(self, tenant: Tenant) -> InvitationQuerySet:
        return self.filter(tenant=tenant)

    def open(self, now: datetime) -> InvitationQuerySet:
        """Those that can still be accepted: nobody is let in by a person who could not invite anybody now."""
        return self.filter(owned_by("invited_by"), accepted_at=None, expires_at__gt=now)

    def with_token(self, digest: str) -> InvitationQuerySet:
        return self.filter(Q(digest=digest) | Q(mailed_digest=digest))


class Invitation(models.Model):
    """Its tokens are stored as hashes only; withdrawn, it is gone.

    The mailed token differs from the one that the owner is shown: to bring the mailed one proves that its bearer reads
    the address.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=10, choices=Membership.Role.choices, default=Membership.Role.MEMBER)
    digest = models.CharField(max_length=64, unique=True)  # of the token that the owner is shown
    mailed_digest = models.CharField(max_length=64, unique=True, null=True, blank=True)  # of the mailed one, if any
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.email} to {self.tenant} ({self.role})"
