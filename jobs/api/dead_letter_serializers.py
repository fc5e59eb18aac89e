"""What goes in and out of the routes of dead letters."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from rest_framework import serializers

from jobs.api.serializers import ListedPayloadField, OmittedField, PayloadField
from jobs.api.strict import BodySerializer, BoundedListField, IdField, StrictSerializer
from jobs.dead_letters import LONGEST_REASON
from jobs.fingerprints import LENGTH
from jobs.models import Replay
from jobs.models.execution import ExecutionQuerySet

MOST_NAMED = 1_000  # executions, in one call
MOST_CANARIES = 100


class FingerprintField(serializers.RegexField):
    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", "What dead letters of one cause share, as their list by cause tells it.")
        super().__init__(rf"^[0-9a-f]{{{LENGTH}}}\Z", **options)
        self.error_messages["invalid"] = f"must be {LENGTH} of the digits 0-9 and a-f, as the list by cause tells it."


class CriteriaSerializer(serializers.Serializer):
    """Which of the dead letters are meant; all criteria together."""

    fingerprint = FingerprintField(required=False)
    task = serializers.CharField(required=False, max_length=100)
    job = serializers.UUIDField(required=False, help_text="The id of their job.")
    start_time = serializers.DateTimeField(required=False, default_timezone=UTC, help_text="Due from this on …")
    end_time = serializers.DateTimeField(required=False, default_timezone=UTC, help_text="… and before this.")


class StrictCriteriaSerializer(StrictSerializer, CriteriaSerializer):
    def validate(self, criteria: dict[str, Any]) -> dict[str, Any]:
        if not criteria:
            raise serializers.ValidationError("Name at least one criterion: all dead letters are seldom meant.")
        return criteria


class GroupsOptions(StrictSerializer):
    task = serializers.CharField(required=False, max_length=100)
    job = serializers.UUIDField(required=False, help_text="The id of their job.")


class GroupSerializer(serializers.Serializer):
    fingerprint = serializers.CharField(
        allow_null=True, help_text="The same for all of this cause. Null for those whose cause is not known yet."
    )
    task = serializers.CharField()
    error = serializers.CharField(help_text="Of the latest of them.")
    count = serializers.IntegerField()
    first = serializers.DateTimeField(help_text="When the first of them was given up.")
    last = serializers.DateTimeField(help_text="When the last of them was given up.")
    latest = serializers.UUIDField(help_text="The id of the latest of these executions.")


class GroupsSerializer(serializers.Serializer):
    results = GroupSerializer(many=True)


class SelectionSerializer(BodySerializer):
    """Executions named one by one, all of one cause, or all that criteria fit."""

    executions = BoundedListField(
        child=IdField(), required=False, min_length=1, max_length=MOST_NAMED, help_text="Their ids."
    )
    fingerprint = FingerprintField(required=False)
    filter = StrictCriteriaSerializer(required=False, help_text="All that these criteria fit, of which one is needed.")

    def validate(self, wanted: dict[str, Any]) -> dict[str, Any]:
        named = wanted.keys() & {"executions", "fingerprint", "filter"}
        if len(named) != 1:
            raise serializers.ValidationError(
                "Say which are meant by one of executions, fingerprint and filter; "
                f"{len(named) or 'none'} of them came."
            )
        return wanted


class NewReplaySerializer(SelectionSerializer):
    payload = PayloadField(
        required=False,
        help_text="What they are given instead of their own payload. It has to fit the one task they are of.",
    )
    canary = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_CANARIES,
        help_text="Only so many are run at first, the oldest. Once all of these have completed, the others follow by "
        "themselves; if one fails, the others stay dead letters.",
    )

    def validate_payload(self, payload: Any) -> dict[str, Any]:
        if not isinstance(payload, dict):
            raise serializers.ValidationError("must be a JSON object.")
        return payload


class NewDiscardSerializer(SelectionSerializer):
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=LONGEST_REASON)


class ActSerializer(serializers.Serializer):
    count = serializers.IntegerField(
        help_text="To how many it was done. What is no dead letter any more is passed over; by a replay, those "
        "whose job was cancelled or deleted too."
    )
    more = serializers.BooleanField(help_text="Whether there are more than are dealt with in one call: repeat it.")


class ReplaySerializer(serializers.ModelSerializer):
    canaries = serializers.ListField(child=serializers.UUIDField(), help_text="The executions that are tried first.")
    others = serializers.SerializerMethodField(help_text="How many follow if all of those complete.")
    replayed = serializers.IntegerField(help_text="How many of the others were replayed so far.")
    passed_over = serializers.SerializerMethodField(help_text="How many of the others were no dead letters any more.")
    actor = serializers.CharField(source="actor.username", default=None, allow_null=True)
    payload = PayloadField(allow_null=True, help_text="What they are given instead of their own payload, if anything.")

    class Meta:
        model = Replay
        fields = [
            "id",
            "state",
            "reason",
            "canaries",
            "others",
            "replayed",
            "passed_over",
            "payload",
            "actor",
            "created_at",
            "finished_at",
        ]
        extra_kwargs = {"reason": {"help_text": "Why it was stopped."}}

    def get_others(self, replay: Replay) -> int:
        return replay.others_count if hasattr(replay, "others_count") else len(replay.others)

    def get_passed_over(self, replay: Replay) -> int:
        return replay.gone_through - replay.replayed


class ReplayRowSerializer(ReplaySerializer):
    """A replay among others."""

    payload = ListedPayloadField(read_only=True, allow_null=True)
    omitted = OmittedField("Read the replay by itself for them.")

    class Meta(ReplaySerializer.Meta):
        fields = [*ReplaySerializer.Meta.fields, "omitted"]


def matching(executions: ExecutionQuerySet, criteria: dict[str, Any]) -> ExecutionQuerySet:
    """Those that all of the criteria fit."""
    named = {name: criteria[name] for name in ("fingerprint", "task", "job") if name in criteria}
    return executions.filter(**named).due_between(criteria.get("start_time"), criteria.get("end_time"))


def selected(executions: ExecutionQuerySet, wanted: dict[str, Any]) -> ExecutionQuerySet:
    """Those that a body names."""
    if "executions" in wanted:
        return executions.filter(pk__in=wanted["executions"])
    return matching(executions, wanted.get("filter") or {"fingerprint": wanted["fingerprint"]})
