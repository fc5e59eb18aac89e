"""The API key: how a machine proves in whose name it asks."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.people import Tenant, User

USE_NOTED_EVERY = timedelta(minutes=1)  # a busy key would otherwise write a row with every request


class Scope(models.TextChoices):
    READ = "read"
    WRITE = "write"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def for_tenant(self, tenant: Tenant) -> ApiKeyQuerySet:
        return self.filter(tenant=tenant)

    def of(self, user: User) -> ApiKeyQuerySet:
        """Those that speak in this user's name."""
        return self.filter(creator=user)

    def usable(self, now: datetime) -> ApiKeyQuerySet:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)

    def revoke(self, now: datetime) -> int:
        """End them at once; one that has ended stays as it is."""
        return self.filter(revoked_at=None).update(revoked_at=now)


class ApiKey(models.Model):
    """Speaks for one tenant, in the name of whoever made it, and never for more than they may do there.

    The secret is stored as its hash only. It is 256 random bits: a slow hash would make it no safer.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="api_keys")
    creator = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, unique=True)  # what a key is found by, and known by in lists
    digest = models.CharField(max_length=64)
    scopes = models.CharField(max_length=20)  # words, with blanks between them
    rate_limit = models.PositiveIntegerField(null=True, blank=True)  # requests a minute; 0: none of its own
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute
    created_at = models.DateTimeField(default=timezone.now)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes.split()

    def why_not(self, now: datetime) -> str:
        """Why this key opens nothing; empty when it does."""
        if self.revoked_at is not None:
            return "This API key was revoked. Make another."
        if self.expires_at is not None and self.expires_at <= now:
            return f"This API key expired at {self.expires_at:%Y-%m-%d %H:%M} UTC. Make another."
        return ""

    def note_use(self, now: datetime) -> None:
        """Remember when it was last used, if that is not known well enough."""
        noted = self.last_used_at
        if noted is None or now - noted >= USE_NOTED_EVERY:
            ApiKey.objects.filter(pk=self.pk, last_used_at=noted).update(last_used_at=now)
