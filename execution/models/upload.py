"""The files that tasks read and make."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models


class UploadQuerySet(models.QuerySet["Upload"]):
    def for_tenant(self, tenant_id: uuid.UUID) -> UploadQuerySet:
        return self.filter(tenant_id=tenant_id)

    def shown(self) -> UploadQuerySet:
        """Those that may be handed out as they are: we made them, so we know what is in them."""
        return self.filter(made=True)

    def unused_since(self, instant: datetime) -> UploadQuerySet:
        return self.filter(used_at__lt=instant)


class Upload(models.Model):
    """A file in the storage, and whose it is. The storage alone knows neither owners nor ages."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)  # random: not to be guessed
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    content_type = models.CharField(max_length=100)
    filename = models.CharField(max_length=255, blank=True)  # as its sender calls it; never a path of ours
    size = models.PositiveBigIntegerField()  # bytes
    made = models.BooleanField(default=False)  # by a task of ours, rather than sent in
    used_at = models.DateTimeField(db_index=True)  # to the day: what is in use is not pruned

    objects = UploadQuerySet.as_manager()

    def __str__(self) -> str:
        return self.filename or self.name

    @property
    def name(self) -> str:
        """What the outside calls it."""
        return self.id.hex

    @property
    def place(self) -> str:
        """Where it is in the storage: made of two ids, so that nobody's text ever becomes a path."""
        return f"{self.tenant_id.hex}/{self.id.hex}"
