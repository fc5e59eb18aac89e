"""What goes in and out of the job and execution routes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.api.keys import KeyField
from jobs.api.lean import LeanSerializer
from jobs.api.logs import ProgressSerializer
from jobs.api.schedule_schema import SCHEDULE_SCHEMA
from jobs.models import Attempt, Execution, Job
from jobs.models.execution import MAX_ATTEMPTS_SHOWN
from jobs.models.listing import MAX_LISTED
from jobs.policies import LONGEST_WINDOW, MOST_CAUGHT_UP, Misfire, Overlap
from jobs.redaction import redacted
from jobs.services import LONGEST, MOST_RETRIES, SHORTEST_LEASE, Resumed
from jobs.states import Priority, choices
from jobs.terms import LONGEST_TAG, MOST_TAGS, InvalidTags, read_tags


class DocumentField(serializers.JSONField):
    """JSON, parsed and checked before: DRF's own field would write it out once more, to see whether it can."""

    def to_internal_value(self, data: Any) -> Any:
        return data


@extend_schema_field(SCHEDULE_SCHEMA)
class ScheduleField(DocumentField):
    """Passed on as it came: the schedule's own reader knows best what is wrong with it."""


@extend_schema_field({"type": "object", "additionalProperties": True})
class PayloadField(DocumentField):
    """Passed on as it came: checked against the task's own schema. Secrets in it are shown as a mark."""

    def to_representation(self, value: Any) -> Any:
        return redacted(value)


OMITTED = f"Names of fields that are null here because their JSON has more than {MAX_LISTED:,} characters. "


class Whole(serializers.Field):
    """Of a row of a list: the document as far as it was read."""

    def get_attribute(self, instance: Any) -> Any:
        return instance.listed(self.source)


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class ListedPayloadField(Whole, PayloadField):
    """A payload in a list."""


class OmittedField(serializers.ListField):
    def __init__(self, where: str) -> None:
        super().__init__(child=serializers.CharField(), read_only=True, help_text=OMITTED + where)


@extend_schema_field({"description": "Any JSON; null while there is none."})
class ResultField(DocumentField):
    """What a handler returned, as it is: programs go on with it. Pages hide what is named like a secret."""


@extend_schema_field({"description": "Any JSON; null while there is none, and where it is too long for a list."})
class ListedResultField(Whole, ResultField):
    """What a handler returned, in a list."""


class PriorityField(serializers.ChoiceField):
    """A name outside, a number inside."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=[priority.name.lower() for priority in Priority], **options)

    def to_internal_value(self, data: Any) -> int:
        return Priority[super().to_internal_value(data).upper()]

    def to_representation(self, value: int) -> str:
        return Priority(value).name.lower()


class SecondsField(serializers.FloatField):
    """A length of time; without one, the task's own."""

    def __init__(self, *, min_value: float = 0.1, **options: Any) -> None:
        super().__init__(min_value=min_value, max_value=LONGEST, required=False, allow_null=True, **options)


@extend_schema_field(
    {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_TAG},
        "maxItems": MOST_TAGS,
        "example": ["billing", "team:data"],
    }
)
class TagsField(serializers.Field):
    """Short texts that jobs are grouped and found by. Kept in small letters, each once."""

    def to_internal_value(self, data: Any) -> list[str]:
        try:
            return read_tags(data)
        except InvalidTags as error:
            raise serializers.ValidationError(str(error)) from None

    def to_representation(self, value: list[str]) -> list[str]:
        return value


class JobSerializer(LeanSerializer):
    tags = TagsField(
        required=False,
        help_text=f"{MOST_TAGS} at most, of letters, digits and . : / @ + - _; large letters become small ones.",
    )
    payload = PayloadField(required=False)
    schedule = ScheduleField(required=False, help_text="When to run; without one, now.")
    priority = PriorityField(required=False, help_text="Without one, normal.")
    max_retries = serializers.IntegerField(min_value=0, max_value=MOST_RETRIES, required=False, allow_null=True)
    retry_delay = SecondsField(help_text="Before the first retry; each further one waits twice as long.")
    retry_delay_cap = SecondsField(help_text="Before any retry, at most.")
    time_limit = SecondsField(help_text="For one attempt; past it, it is stopped and has failed.")
    lease = SecondsField(min_value=SHORTEST_LEASE, help_text="After this silence, a worker is taken for lost.")
    misfire = serializers.ChoiceField(
        choices(Misfire),
        required=False,
        help_text="What becomes of due times that nobody looked at in time, because the system was down or behind: "
        "none runs, one runs late for all (run_once, the default), or each is caught up on.",
    )
    catch_up_window = serializers.IntegerField(
        min_value=1,
        max_value=int(LONGEST_WINDOW.total_seconds()),
        required=False,
        allow_null=True,
        help_text="Seconds, with misfire catch_up: older due times are skipped. Without one, what the settings say.",
    )
    catch_up_max = serializers.IntegerField(
        min_value=1,
        max_value=MOST_CAUGHT_UP,
        required=False,
        allow_null=True,
        help_text="With misfire catch_up: no more than so many due times run, the earliest ones; the others are "
        "skipped. Without one, what the settings say.",
    )
    overlap = serializers.ChoiceField(
        choices(Overlap),
        required=False,
        allow_null=True,
        help_text="What happens when a due time comes and the run before it is not over: both run (allow), the new one "
        "is skipped, it waits, or the previous one is cancelled first. Without one, skip for recurring schedules "
        "and allow for others.",
    )
    owner = serializers.CharField(source="owner.username", read_only=True, default=None)

    class Meta:
        model = Job
        fields = [
            "id",
            "name",
            "task",
            "payload",
            "schedule",
            "priority",
            "max_retries",
            "retry_delay",
            "retry_delay_cap",
            "time_limit",
            "lease",
            "misfire",
            "catch_up_window",
            "catch_up_max",
            "overlap",
            "tags",
            "status",
            "next_run_at",
            "owner",
            "created_at",
            "updated_at",
        ]
        read_only_fields = ["id", "status", "next_run_at", "created_at", "updated_at"]


class JobRowSerializer(JobSerializer):
    """A job among others."""

    payload = ListedPayloadField(read_only=True, allow_null=True)
    omitted = OmittedField("Read the job by itself for them.")

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "omitted"]


class NewJobSerializer(JobSerializer):
    """A job as it is asked for. Beside what it is, what makes asking twice harmless."""

    idempotency_key = KeyField(required=False, write_only=True)

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "idempotency_key"]


# One for all requests: to make one takes far longer than to ask it.
JOB = JobSerializer()
JOB_ROW = JobRowSerializer()
NEW_JOB = NewJobSerializer()


class MissedSerializer(serializers.Serializer):
    count = serializers.IntegerField(help_text="Due times that passed during the pause.")
    more = serializers.BooleanField(help_text="Whether there are more than were counted.")
    first = serializers.DateTimeField(allow_null=True)
    last = serializers.DateTimeField(allow_null=True)
    outcome = serializers.CharField(help_text="What becomes of them, in words.")


class ResumedJobSerializer(JobSerializer):
    missed = MissedSerializer(read_only=True, help_text="What the job missed while it was paused.")

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "missed"]

    def to_representation(self, instance: Resumed) -> dict[str, Any]:
        return JOB.to_representation(instance.job) | {"missed": MissedSerializer(instance.missed).data}


class AttemptSerializer(serializers.ModelSerializer):
    class Meta:
        model = Attempt
        fields = ["number", "outcome", "error", "traceback", "worker", "started_at", "finished_at"]


class ExecutionSerializer(serializers.ModelSerializer):
    priority = PriorityField(read_only=True)
    job = serializers.UUIDField(source="job_id", read_only=True)
    result = ResultField(read_only=True)

    class Meta:
        model = Execution
        fields = [
            "id",
            "job",
            "task",
            "priority",
            "cause",
            "status",
            "attempt",
            "due_at",
            "recorded_at",
            "queued_at",
            "started_at",
            "finished_at",
            "worker",
            "result",
            "error",
            "reason",
            "waits_for",
            "covers_until",
        ]
        extra_kwargs = {
            "reason": {"help_text": "Why it was skipped, cancelled or discarded."},
            "waits_for": {"help_text": "The execution that must be over before this one starts."},
            "covers_until": {
                "help_text": "Of a skipped one: its reason holds for every due time of the schedule up to this one too."
            },
        }


class ExecutionRowSerializer(ExecutionSerializer):
    """An execution among others."""

    result = ListedResultField(read_only=True)
    omitted = OmittedField("Read the execution by itself for them.")

    class Meta(ExecutionSerializer.Meta):
        fields = [*ExecutionSerializer.Meta.fields, "omitted"]


class LastExecutionField(ExecutionRowSerializer):
    """The last execution, shown beside a job. `jobs.api.expanding` describes how."""

    def __init__(self, **options: Any) -> None:
        told = "With expand=last_execution: that of its latest due time, if any."
        super().__init__(required=False, allow_null=True, help_text=told, **options)


class ListedJobSerializer(JobRowSerializer):
    """A job as lists show it."""

    last_execution = LastExecutionField()

    class Meta(JobRowSerializer.Meta):
        fields = [*JobRowSerializer.Meta.fields, "last_execution"]


class ShownJobSerializer(JobSerializer):
    """A job as it is read by itself."""

    last_execution = LastExecutionField()

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "last_execution"]


class MomentSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    event = serializers.CharField()
    detail = serializers.CharField()


class ExecutionDetailSerializer(ExecutionSerializer):
    payload = PayloadField(source="effective_payload", read_only=True)
    attempts = AttemptSerializer(
        many=True,
        read_only=True,
        source="latest_attempts",
        help_text=f"Unsuccessful attempts, the latest {MAX_ATTEMPTS_SHOWN} at most.",
    )
    timeline = MomentSerializer(many=True, read_only=True)
    progress = ProgressSerializer(
        read_only=True, allow_null=True, default=None, help_text="How far it is, where its handler says so."
    )

    class Meta(ExecutionSerializer.Meta):
        fields = [
            *ExecutionSerializer.Meta.fields,
            "cancel_requested_at",
            "discarded_at",
            "fingerprint",
            "payload",
            "attempts",
            "timeline",
            "progress",
        ]
        extra_kwargs = {
            **ExecutionSerializer.Meta.extra_kwargs,
            "cancel_requested_at": {"help_text": "While it runs: since when it is to end."},
            "discarded_at": {"help_text": "Of a dead letter that somebody has let go: when."},
            "fingerprint": {"help_text": "Of one that failed for good: what it shares with others of the same cause."},
        }
