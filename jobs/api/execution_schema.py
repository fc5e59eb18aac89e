"""What acts on one execution say of themselves in the API's description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema

from jobs.api.problem_schema import problems
from jobs.api.serializers import ExecutionSerializer, PayloadField
from jobs.api.strict import StrictSerializer


class RetrySerializer(StrictSerializer):
    payload = PayloadField(required=False, help_text="What it is given instead of its own. It has to fit its task.")


describe_cancel = extend_schema(
    operation_id="cancel_execution",
    summary="Cancel an execution",
    description=(
        "One that waits is cancelled at once. One that runs is told to end, and is stopped if it does not; it stays "
        "RUNNING until then, and is not retried. One that completes all the same is COMPLETED. One that is over "
        "already is a 409."
    ),
    request=None,
    responses={200: ExecutionSerializer, **problems(401, 403, 404, 409)},
)
describe_retry = extend_schema(
    operation_id="retry_execution",
    summary="Run an execution that has failed for good again",
    description=(
        "It runs from now on, with all its retries and the same idempotency key. Anything but a dead letter is a 409 "
        "with the reason, and so is one whose job was cancelled or deleted."
    ),
    request=RetrySerializer,
    responses={200: ExecutionSerializer, **problems(400, 401, 403, 404, 409)},
    examples=[
        OpenApiExample("As it was", value={}, request_only=True),
        OpenApiExample(
            "With another payload",
            value={"payload": {"to": "you@example.com", "subject": "Hello", "body": "…"}},
            request_only=True,
        ),
    ],
)
