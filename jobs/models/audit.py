"""The audit event: an act of a person or an API client, with what it changed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Tenant
from jobs.models.listing import Listed, listed_annotations

CHANGES = ("create", "update", "pause", "resume", "cancel", "delete")  # acts that change when a job runs


class AuditQuerySet(models.QuerySet["AuditEvent"]):
    def in_list(self) -> AuditQuerySet:
        """As a list shows them: see `jobs.models.listing`."""
        return self.defer(*AuditEvent.LONG).annotate(**listed_annotations(*AuditEvent.LONG))


class AuditEvent(Listed, models.Model):
    """Written in the same transaction as the act itself, and never changed afterwards."""

    LONG = ("before", "after")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="audit_events", db_index=False)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    action = models.CharField(max_length=40)
    # None, where it was done to something else: what that is, `before` and `after` tell.
    job = models.ForeignKey("jobs.Job", models.PROTECT, null=True, related_name="audit_events", db_index=False)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    at = models.DateTimeField(default=timezone.now)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["tenant", "-at", "-id"], name="audit_of_a_tenant_by_time"),
            models.Index(fields=["job", "at"], name="audit_of_a_job"),
            # Creations are most of all events, and easily found without: every other act is rare among them.
            models.Index(
                fields=["tenant", "action", "-at", "-id"], name="audit_of_rare_acts", condition=~Q(action="create")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.actor or 'nobody'}"
