"""The incident: something that is or was wrong; and which rules have to tell of it."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q

from accounts.models import Tenant
from jobs.alerts.kinds import OF_THE_SYSTEM, Kind
from jobs.ids import new_job_id
from jobs.models.alert import AlertRule
from jobs.models.job import Job
from jobs.states import choices

LONGEST_TITLE = 200  # characters: as long as a job's name


class IncidentQuerySet(models.QuerySet["Incident"]):
    def for_tenant(self, tenant: Tenant) -> IncidentQuerySet:
        return self.filter(tenant=tenant)

    def open(self) -> IncidentQuerySet:
        return self.filter(recovered_at=None)

    def over(self) -> IncidentQuerySet:
        return self.filter(recovered_at__isnull=False)

    def of_kind(self, *kinds: Kind) -> IncidentQuerySet:
        return self.filter(kind__in=kinds)

    def of_the_system(self) -> IncidentQuerySet:
        return self.of_kind(*OF_THE_SYSTEM)


class Incident(models.Model):
    """Kept whether or not anybody asked to be told. What is over stays, as history.

    `key` makes a happening one of a kind for ever; and of each kind and subject, one is open at a time.
    """

    id = models.UUIDField(primary_key=True, default=new_job_id, editable=False)
    kind = models.CharField(max_length=20, choices=choices(Kind))
    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, related_name="incidents", db_index=False)
    job = models.ForeignKey(Job, models.CASCADE, null=True, related_name="incidents", db_index=False)
    subject = models.CharField(max_length=150)
    key = models.CharField(max_length=250, unique=True)
    title = models.CharField(max_length=LONGEST_TITLE)  # the job's name then, or what is wrong
    since = models.DateTimeField()  # the due time that was missed, or when it began
    last_at = models.DateTimeField()  # when it happened last
    count = models.PositiveIntegerField(default=1)
    execution = models.UUIDField(null=True)  # the latest that failed, or the one that has waited longest
    detail = models.JSONField(default=dict)  # task, cause, error
    opened_at = models.DateTimeField()
    recovered_at = models.DateTimeField(null=True)

    objects = IncidentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="incidents_of_a_tenant"),
            models.Index(fields=["job", "-id"], name="incidents_of_a_job"),
            models.Index(fields=["tenant", "kind", "-id"], name="incidents_by_kind"),
            models.Index(fields=["kind", "id"], name="incidents_open", condition=Q(recovered_at=None)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject"], condition=Q(recovered_at=None), name="one_open_incident_a_subject"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.title}"


class MentionQuerySet(models.QuerySet["Mention"]):
    def due(self, now: datetime) -> MentionQuerySet:
        return self.filter(tell_at__lte=now)


class Mention(models.Model):
    """That an incident is a rule's to tell. Has `tell_at` while there is something to be told."""

    rule = models.ForeignKey(AlertRule, models.CASCADE, related_name="mentions", db_index=False)
    incident = models.ForeignKey(Incident, models.CASCADE, related_name="mentions")
    tell_at = models.DateTimeField(null=True)
    told = models.PositiveIntegerField(default=0)  # how often it had happened when it was told last; 0: never told

    objects = MentionQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["tell_at"], name="mentions_to_tell", condition=Q(tell_at__isnull=False))]
        constraints = [models.UniqueConstraint(fields=["rule", "incident"], name="one_mention_a_rule")]

    def __str__(self) -> str:
        return f"{self.rule_id} hears of {self.incident_id}"
