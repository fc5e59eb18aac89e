"""What the routes of dead letters say of themselves in the API's description."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema

from jobs.api.dead_letter_serializers import (
    ActSerializer,
    CriteriaSerializer,
    GroupsOptions,
    GroupsSerializer,
    NewDiscardSerializer,
    NewReplaySerializer,
    ReplaySerializer,
)
from jobs.api.problem_schema import problems
from jobs.api.serializers import ExecutionRowSerializer
from jobs.dead_letters import MOST_AT_ONCE, MOST_GROUPS

FINGERPRINT = "8f14e45fceea167a"
EXECUTION = "01a1e389-b509-8876-bc9a-f4107a1b7fb7"
CAUSE = {
    "fingerprint": FINGERPRINT,
    "task": "send_email",
    "error": "SMTPRecipientsRefused: no mailbox 'alice@example.com'",
    "count": 1204,
    "first": "2026-11-16T08:46:55.240949Z",
    "last": "2026-11-16T09:12:03.810022Z",
    "latest": EXECUTION,
}
TRYING = {
    "id": "01a1e38a-0a11-7cf3-9d2b-52f1c6f0a3de",
    "state": "TRYING",
    "reason": "",
    "canaries": [EXECUTION],
    "others": 1203,
    "replayed": 0,
    "passed_over": 0,
    "payload": None,
    "actor": "dora",
    "created_at": "2026-11-16T10:00:00.000000Z",
    "finished_at": None,
}
PASSED_OVER = (
    "What is no dead letter any more is passed over. "
    f"One call deals with {MOST_AT_ONCE:,} at most; `more` says whether there are others."
)

describe_causes = extend_schema(
    operation_id="list_dead_letter_causes",
    summary="Count dead letters by cause, most frequent first",
    description=(
        "Dead letters of one task whose errors differ only in numbers, ids, addresses and quoted values share a "
        f"fingerprint, and are one line. The {MOST_GROUPS} most frequent causes are listed."
    ),
    parameters=[GroupsOptions, *(OpenApiParameter(name, exclude=True) for name in ("cursor", "page_size"))],
    responses={200: GroupsSerializer, **problems(400, 401, 403)},
    examples=[OpenApiExample("One cause", value={"results": [CAUSE]}, response_only=True, status_codes=["200"])],
)
describe_list = extend_schema(
    operation_id="list_dead_letters",
    summary="List dead letters, latest due time first",
    parameters=[CriteriaSerializer],
    responses={200: ExecutionRowSerializer(many=True), **problems(400, 401, 403, 404)},
)
describe_replay = extend_schema(
    operation_id="replay_dead_letters",
    summary="Run dead letters again, all at once or a few first",
    description=(
        "They run from now on, with all their retries. Those of a job that was cancelled or deleted are passed over. "
        f"{PASSED_OVER} With `canary` the answer is 202 and tells where to see how it goes; nothing more needs "
        "to be done, and a restart of anything does not matter."
    ),
    request=NewReplaySerializer,
    responses={200: ActSerializer, 202: ReplaySerializer, **problems(400, 401, 403)},
    examples=[
        OpenApiExample("All of one cause", value={"fingerprint": FINGERPRINT}, request_only=True),
        OpenApiExample("Five of them first", value={"fingerprint": FINGERPRINT, "canary": 5}, request_only=True),
        OpenApiExample(
            "One, with another payload",
            value={"executions": [EXECUTION], "payload": {"to": "you@example.com", "subject": "Hello", "body": "…"}},
            request_only=True,
        ),
        OpenApiExample("All", value={"count": 1204, "more": False}, response_only=True, status_codes=["200"]),
        OpenApiExample("One is tried", value=TRYING, response_only=True, status_codes=["202"]),
    ],
)
describe_discard = extend_schema(
    operation_id="discard_dead_letters",
    summary="Let dead letters go; they stay as history",
    description=PASSED_OVER,
    request=NewDiscardSerializer,
    responses={200: ActSerializer, **problems(400, 401, 403)},
    examples=[
        OpenApiExample(
            "All of a task",
            value={"filter": {"task": "send_email"}, "reason": "the shop is closed"},
            request_only=True,
        ),
        OpenApiExample("All", value={"count": 1204, "more": False}, response_only=True, status_codes=["200"]),
    ],
)
describe_replays = extend_schema(
    operation_id="list_replays",
    summary="List replays that try a few first, newest first",
    responses={200: ReplaySerializer(many=True), **problems(401, 403, 404)},
)
describe_replay_state = extend_schema(
    operation_id="get_replay",
    summary="See how a replay goes that tries a few first",
    parameters=[OpenApiParameter("id", UUID, OpenApiParameter.PATH)],
    responses={200: ReplaySerializer, **problems(401, 403, 404)},
)
