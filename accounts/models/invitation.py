"""The invitation: that whoever has an address may join a tenant."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.utils import timezone

from accounts.models.people import Membership, Tenant, User


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def for_tenant(self, tenant: Tenant) -> InvitationQuerySet:
        return self.filter(tenant=tenant)

    def open(self, now: datetime) -> InvitationQuerySet:
        """Those that can still be accepted."""
        return self.filter(accepted_at=None, expires_at__gt=now)


class Invitation(models.Model):
    """Its token is stored as a hash only; withdrawn, it is gone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=10, choices=Membership.Role.choices, default=Membership.Role.MEMBER)
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.email} to {self.tenant} ({self.role})"
