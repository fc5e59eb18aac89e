"""What goes in and out of the routes of alerts and incidents."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from jobs.alerts.kinds import OF_A_JOB, Channel, Wish
from jobs.alerts.rules import LONGEST, MOST_EMAILS, PAUSE, SHORTEST_PAUSE
from jobs.api.strict import BodySerializer, BoundedListField, IdField
from jobs.models import AlertRule, Incident
from jobs.models.alert import LONGEST_URL
from jobs.states import choices
from jobs.terms import LONGEST_TAG


class NoticeSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="The idempotency key of every try.")
    created_at = serializers.DateTimeField()
    attempts = serializers.IntegerField(help_text="How often it was tried.")
    sent_at = serializers.DateTimeField(allow_null=True, help_text="Null while it was not delivered.")
    try_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is tried next. Null once it is delivered or given up."
    )
    error = serializers.CharField(help_text="Why the latest try failed, or who was refused.")


class AlertSerializer(serializers.ModelSerializer):
    job = serializers.UUIDField(source="job_id", allow_null=True)
    kinds = serializers.ListField(child=serializers.ChoiceField(choices(Wish)))
    emails = serializers.ListField(child=serializers.CharField())
    has_secret = serializers.SerializerMethodField(help_text="Whether it signs with a secret of its own.")
    latest_notice = NoticeSerializer(allow_null=True)

    class Meta:
        model = AlertRule
        fields = [
            "id",
            "name",
            "job",
            "tag",
            "kinds",
            "channel",
            "emails",
            "url",
            "has_secret",
            "patience",
            "pause",
            "enabled",
            "created_at",
            "latest_notice",
        ]

    def get_has_secret(self, rule: AlertRule) -> bool:
        return bool(rule.sealed)


class AlertChangeSerializer(BodySerializer):
    """A rule as it is asked for, or what is to be changed about one."""

    name = serializers.CharField(max_length=100)
    channel = serializers.ChoiceField(choices(Channel))
    job = IdField(
        required=False, allow_null=True, help_text="Of this job alone. Without job and tag: of all your jobs."
    )
    tag = serializers.CharField(
        max_length=LONGEST_TAG, required=False, allow_blank=True, help_text="Of jobs that have this tag."
    )
    kinds = BoundedListField(
        child=serializers.ChoiceField(choices(Wish)),
        required=False,
        max_length=2 * len(Wish),
        help_text="What to be told; without any, all of them. `recovered` tells that what was told before is over.",
    )
    emails = BoundedListField(
        child=serializers.CharField(max_length=254),
        required=False,
        max_length=MOST_EMAILS,
        help_text="With the channel email: who gets the notices.",
    )
    url = serializers.CharField(
        max_length=LONGEST_URL, required=False, help_text="With the channel webhook: where notices are posted."
    )
    secret = serializers.CharField(
        max_length=200,
        required=False,
        allow_null=True,
        write_only=True,
        help_text="What posts are signed with: whsec_ and base64. Without one, your tenant's signing secret.",
    )
    patience = serializers.FloatField(
        min_value=0,
        max_value=LONGEST,
        required=False,
        help_text="Seconds after the due time: what was missed or is late is told when it has lasted so long.",
    )
    pause = serializers.FloatField(
        min_value=SHORTEST_PAUSE,
        max_value=LONGEST,
        required=False,
        help_text=f"Seconds between two notices, at least; without, {PAUSE:.0f}. What comes in between is gathered.",
    )
    enabled = serializers.BooleanField(required=False)


class IncidentSerializer(serializers.ModelSerializer):
    job = serializers.UUIDField(source="job_id", allow_null=True)
    kind = serializers.ChoiceField([kind.value for kind in OF_A_JOB])
    title = serializers.CharField(help_text="What the job was called.")
    since = serializers.DateTimeField(help_text="The due time that was missed, or when it began.")
    last_at = serializers.DateTimeField(help_text="When it happened last.")
    count = serializers.IntegerField(help_text="How often; of what is late, how many executions waited at first.")
    execution = serializers.UUIDField(
        allow_null=True, help_text="The latest that failed, or the one that has waited longest."
    )
    task = serializers.SerializerMethodField()
    cause = serializers.SerializerMethodField(help_text="Why, where it is known: such as that no poller is running.")
    error = serializers.SerializerMethodField(help_text="Of the latest failure.")
    outcome = serializers.SerializerMethodField(
        help_text="Of a missed due time that is over: whether it runs late, or was skipped and why."
    )
    recovered_at = serializers.DateTimeField(allow_null=True, help_text="Null while it is not over.")

    class Meta:
        model = Incident
        fields = [
            "id",
            "kind",
            "job",
            "title",
            "task",
            "since",
            "last_at",
            "count",
            "execution",
            "cause",
            "error",
            "outcome",
            "opened_at",
            "recovered_at",
        ]

    def get_task(self, one: Incident) -> str:
        return self._detail(one, "task")

    def get_cause(self, one: Incident) -> str:
        return self._detail(one, "cause")

    def get_error(self, one: Incident) -> str:
        return self._detail(one, "error")

    def get_outcome(self, one: Incident) -> str:
        return self._detail(one, "outcome")

    def _detail(self, one: Incident, name: str) -> Any:
        return one.detail.get(name, "")
