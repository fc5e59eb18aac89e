"""What workers in other languages send, and what they are told."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from execution.runner import MAX_ERROR
from jobs.api.serializers import DocumentField, PayloadField
from jobs.api.strict import BoundedListField, StrictSerializer

MOST_AT_ONCE = 100  # executions a request
MOST_TASKS = 100
LONGEST_WAIT = 30.0  # seconds that a worker may ask to wait
LONGEST_TRACEBACK = 50_000  # characters
LOST = "False: the lease was lost. Stop; somebody else has it, or it is over."


class ClaimRequest(StrictSerializer):
    tasks = BoundedListField(
        child=serializers.CharField(max_length=100),
        max_length=MOST_TASKS,
        required=False,
        help_text="Of which tasks; without any, of all that the key is for.",
    )
    executions = BoundedListField(
        child=serializers.UUIDField(),
        max_length=MOST_AT_ONCE,
        min_length=1,
        required=False,
        help_text="These and no others: the ids of a message from RabbitMQ. Not together with tasks.",
    )
    limit = serializers.IntegerField(
        min_value=1,
        max_value=MOST_AT_ONCE,
        default=1,
        help_text="How many at most; fewer are claimed where payloads are long.",
    )
    wait = serializers.FloatField(
        min_value=0,
        max_value=LONGEST_WAIT,
        default=0.0,
        help_text="Seconds to wait for the first. When too many workers wait already, the answer comes at once, "
        "with Retry-After.",
    )
    worker = serializers.CharField(max_length=100, default="", help_text="Shown in the history; else the key's name.")

    def validate(self, attributes: dict[str, Any]) -> dict[str, Any]:
        if "executions" in attributes and "tasks" in attributes:
            raise serializers.ValidationError({"executions": "cannot be given together with tasks. Give one of them."})
        return attributes


class ClaimedSerializer(serializers.Serializer):
    execution = serializers.UUIDField(help_text="Also the idempotency key: the same for every attempt.")
    attempt = serializers.IntegerField(help_text="Send it with everything that is said of this execution.")
    task = serializers.CharField()
    job = serializers.UUIDField()
    payload = PayloadField()
    lease_seconds = serializers.FloatField(help_text="Send a heartbeat at least three times in this time.")
    lease_until = serializers.DateTimeField()
    deadline = serializers.DateTimeField(allow_null=True, help_text="Past it the attempt has failed.")


class ClaimAnswer(serializers.Serializer):
    claims = ClaimedSerializer(many=True)
    left = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="Where executions were named: those whose payloads did not fit into this answer. Claim them in "
        "another request.",
    )


class HeldSerializer(StrictSerializer):
    """An attempt that a worker speaks for."""

    execution = serializers.UUIDField()
    attempt = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class DoneSerializer(HeldSerializer):
    result = extend_schema_field({})(DocumentField)(
        required=False,
        allow_null=True,
        default=None,
        help_text="Any JSON, kept with the execution. At most MAX_RESULT_BYTES long, 256 KiB by default.",
    )


class FailedSerializer(HeldSerializer):
    error = serializers.CharField(max_length=MAX_ERROR, help_text="In one line.")
    traceback = serializers.CharField(
        max_length=LONGEST_TRACEBACK, required=False, allow_blank=True, default="", trim_whitespace=False
    )
    retry = serializers.BooleanField(default=True, help_text="False: no further attempt can succeed, give up now.")
    retry_at = serializers.DateTimeField(
        required=False, allow_null=True, default=None, help_text="Not before this. Without it, the usual delay."
    )


class SaidSerializer(serializers.Serializer):
    """What became of what was said of one attempt."""

    execution = serializers.UUIDField()
    attempt = serializers.IntegerField()
    recorded = serializers.BooleanField(
        help_text="False: the lease was lost. Stop; somebody else has it, or it is over."
    )


class KeptSerializer(serializers.Serializer):
    execution = serializers.UUIDField()
    attempt = serializers.IntegerField()
    kept = serializers.BooleanField(help_text=LOST)
    lease_until = serializers.DateTimeField(allow_null=True)
    cancelled = serializers.BooleanField(help_text="A person wants it to end: stop, and say that it failed.")


def one_or_many(serializer: type[serializers.Serializer], **options: Any) -> PolymorphicProxySerializer:
    """For the description: the thing itself, or several as `items`."""
    name = serializer.__name__.removesuffix("Serializer")
    several = type(f"Several{name}", (serializers.Serializer,), {"items": serializer(many=True)})
    return PolymorphicProxySerializer(
        component_name=f"{name}OrSeveral", serializers=[serializer, several], resource_type_field_name=None
    )


def read_one_or_many(serializer: type[HeldSerializer], data: Any) -> tuple[list[dict[str, Any]], bool]:
    """What was sent, and whether it was one thing by itself. No attempt may be there twice."""
    if not isinstance(data, dict) or "items" not in data:
        one = serializer(data=data)
        one.is_valid(raise_exception=True)
        return [one.validated_data], True
    if unknown := sorted(data.keys() - {"items"}):
        raise serializers.ValidationError({unknown[0][:100]: "cannot be set beside items. Put it into each of them."})
    several = serializer(data=data["items"], many=True, min_length=1, max_length=MOST_AT_ONCE)
    if not several.is_valid():
        raise serializers.ValidationError({"items": _by_number(several.errors)})
    read = several.validated_data
    if len({(one["execution"], one["attempt"]) for one in read}) < len(read):
        raise serializers.ValidationError({"items": "One attempt is there twice. Say one thing of each."})
    return read, False


def refused_field(field: str, faults: dict[int, str], *, alone: bool) -> serializers.ValidationError:
    """The answer to what was sent when a field of these items, by number, will not do."""
    by_number = {str(number): {field: [fault]} for number, fault in faults.items()}
    return serializers.ValidationError(by_number["0"] if alone else {"items": by_number})


def _by_number(errors: Any) -> Any:
    if isinstance(errors, list):
        return {str(number): error for number, error in enumerate(errors) if error}
    return errors


def as_json(result: Any) -> str | None:
    return None if result is None else json.dumps(result)
