"""The keys of workers that are not ours: what each may run, and for whom."""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Tenant
from accounts.models.people import owned_by

USED_ANEW = timedelta(minutes=1)  # a key is used many times a second, and written that often it would be a bottleneck


class WorkerKeyQuerySet(models.QuerySet["WorkerKey"]):
    def for_tenant(self, tenant: Tenant) -> WorkerKeyQuerySet:
        return self.filter(tenant=tenant)

    def valid(self, now: datetime) -> WorkerKeyQuerySet:
        """Those that may be used: one that a person made, only while that person is an owner of its tenant."""
        made_by_operators = Q(owner=None)
        return self.filter(
            Q(expires_at=None) | Q(expires_at__gt=now), made_by_operators | owned_by("owner"), revoked_at=None
        )

    def revoke(self, now: datetime) -> int:
        """End them at once; one that has ended stays as it is."""
        return self.filter(revoked_at=None).update(revoked_at=now)

    def spelled(self, secret: str) -> WorkerKeyQuerySet:
        return self.filter(digest=digest(secret))


class WorkerKey(models.Model):
    """Lets a worker in another language claim executions of some tasks, of one tenant or of all."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    tasks = models.JSONField()  # names
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, null=True, related_name="worker_keys")  # none: of all
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = WorkerKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return self.name

    def serves(self, task: str, tenant_id: uuid.UUID) -> bool:
        return task in self.tasks and self.tenant_id in (None, tenant_id)

    def note_use(self, now: datetime) -> None:
        if self.last_used_at is None or now - self.last_used_at > USED_ANEW:
            type(self).objects.filter(pk=self.pk).update(last_used_at=now)


def digest(secret: str) -> str:
    """What is kept of a key. It is long and random, so that nobody finds it by trying, however quick the hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
