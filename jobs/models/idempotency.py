"""The idempotency key: that a request was carried out, so that the same one sent again is not."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from accounts.models import Tenant


class IdempotencyKeyQuerySet(models.QuerySet["IdempotencyKey"]):
    def expired(self, now: datetime) -> IdempotencyKeyQuerySet:
        return self.filter(expires_at__lte=now)

    def prune(self, now: datetime, most: int) -> None:
        """Delete some that have expired; those that somebody else deletes at this moment are left to them."""
        some = self.expired(now).order_by("expires_at").select_for_update(skip_locked=True)
        self.filter(pk__in=some.values("pk")[:most]).delete()


class IdempotencyKey(models.Model):
    """Written in the transaction of what it stands for, so that neither stands without the other."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)  # of what was asked for
    made = models.JSONField()  # for each job that was asked for: its id, or what was wrong with it
    expires_at = models.DateTimeField()

    objects = IdempotencyKeyQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_request_a_key")]
        indexes = [models.Index(fields=["expires_at"], name="keys_by_expiry")]

    def __str__(self) -> str:
        return self.key
