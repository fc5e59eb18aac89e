"""What the routes of acts on many jobs say of themselves in the API's description."""

from __future__ import annotations

from collections.abc import Callable

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers

from jobs.api.bulk_acts import MOST_IDS, NOT_FOUND, OK, REFUSED, UNKNOWN, JobIdsSerializer
from jobs.api.problem_schema import problems
from jobs.api.serializers import JobRowSerializer


class BulkActOutcomeSerializer(serializers.Serializer):
    index = serializers.IntegerField(help_text="The id's place in the list that was sent, from 0.")
    id = serializers.UUIDField()
    status = serializers.ChoiceField([OK, NOT_FOUND, REFUSED])
    reason = serializers.CharField(required=False, help_text="Why not, unless it is ok.")
    job = JobRowSerializer(required=False, help_text="The job as it is now. Absent if it was not found.")
    missed_since = serializers.DateTimeField(
        required=False,
        help_text="Of one that was resumed: the first due time that passed during the pause. To run what was missed, "
        "backfill from it on.",
    )


class BulkActOutcomesSerializer(serializers.Serializer):
    results = BulkActOutcomeSerializer(many=True, help_text="One for each id that was sent, in their order.")
    ok = serializers.IntegerField()
    not_found = serializers.IntegerField()
    refused = serializers.IntegerField()


def describe_bulk_act(act: str, word: str) -> Callable:
    return extend_schema(
        operation_id=f"{act}_jobs",
        summary=f"{word} up to {MOST_IDS:,} jobs, each with its own outcome",
        description=(
            "A job that is not found, or that the act is refused for, does not keep the others from it, so the answer "
            "is 200 whatever became of each. All that is done is done in one transaction."
        ),
        request=JobIdsSerializer,
        responses={200: BulkActOutcomesSerializer, **problems(400, 401, 403, 413)},
        examples=[
            OpenApiExample(
                "One that was not found",
                value={
                    "results": [
                        {
                            "index": 0,
                            "id": "01a1e389-b509-7876-bc9a-f4107a1b7fb7",
                            "status": NOT_FOUND,
                            "reason": UNKNOWN,
                        }
                    ],
                    OK: 0,
                    NOT_FOUND: 1,
                    REFUSED: 0,
                },
                response_only=True,
                status_codes=["200"],
            )
        ],
    )
