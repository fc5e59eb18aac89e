"""The rule: who is told of which incidents, how, and how often at most."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from accounts.models import Tenant
from jobs.alerts.kinds import Channel, Kind, Wish
from jobs.ids import new_job_id
from jobs.models.job import Job
from jobs.states import choices
from jobs.terms import LONGEST_TAG

LONGEST_URL = 2000  # characters
SWITCHED_OFF = "The rule was switched off."  # why a notice was not delivered


class AlertRuleQuerySet(models.QuerySet["AlertRule"]):
    def for_tenant(self, tenant: Tenant) -> AlertRuleQuerySet:
        return self.filter(tenant=tenant)

    def enabled(self) -> AlertRuleQuerySet:
        return self.filter(enabled=True)

    def for_operators(self) -> AlertRuleQuerySet:
        """Those that the settings make."""
        return self.filter(tenant=None)


class AlertRule(models.Model):
    """A tenant's, of one job, of jobs with a tag, or of all its jobs; or of nobody's, for whoever runs Punctual."""

    id = models.UUIDField(primary_key=True, default=new_job_id, editable=False)
    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, related_name="alert_rules", db_index=False)
    job = models.ForeignKey(Job, models.CASCADE, null=True, blank=True, related_name="alert_rules")
    tag = models.CharField(max_length=LONGEST_TAG, blank=True, default="")
    name = models.CharField(max_length=100)
    kinds = models.JSONField()  # wishes; of those for operators, kinds
    channel = models.CharField(max_length=10, choices=choices(Channel))
    emails = models.JSONField(default=list, blank=True)
    url = models.CharField(max_length=LONGEST_URL, blank=True, default="")
    sealed = models.JSONField(null=True, editable=False)  # the webhook's own signing secret, sealed for the tenant
    patience = models.FloatField(default=0)  # seconds that what is missed or late has lasted before it is told
    pause = models.FloatField()  # seconds between two notices, at least: what comes in between goes into the next
    enabled = models.BooleanField(default=True)
    told_at = models.DateTimeField(null=True, editable=False)  # when the latest notice was written
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    latest_notice: Any = None  # for those who have read it along: see `jobs.alerts.rules`

    objects = AlertRuleQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["tenant", "-id"], name="alert_rules_of_a_tenant")]

    def __str__(self) -> str:
        return self.name

    def wants(self, kind: Kind, tenant: UUID | None, job: UUID | None, tags: Collection[str]) -> bool:
        """Whether an incident is this rule's to tell."""
        return (
            kind in self.kinds
            and self.tenant_id in (None, tenant)
            and self.job_id in (None, job)
            and (not self.tag or self.tag in tags)
        )

    @property
    def wants_recovered(self) -> bool:
        return Wish.RECOVERED in self.kinds

    def may_speak(self, now: datetime) -> bool:
        """Whether the pause since the latest notice is over."""
        return self.told_at is None or now - self.told_at >= timedelta(seconds=self.pause)

    def forget(self) -> None:
        """Tell nothing of what it had to tell. Hold the watch: a look writes the same rows."""
        self.mentions.filter(tell_at__isnull=False).update(tell_at=None)
        self.notices.filter(try_at__isnull=False).update(try_at=None, error=SWITCHED_OFF)
