"""What the bulk route says of itself in the API's description: bodies, limits and an example of each."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers

from jobs.api.bulk import CREATED, INVALID, MOST_JOBS
from jobs.api.job_schema import KEY_HEADER, replayed_header
from jobs.api.keys import KeyField
from jobs.api.problem_schema import problems
from jobs.api.serializers import JobRowSerializer, JobSerializer

MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}
FRIDAYS = {"type": "cron", "expression": "30 10 * * 5", "timezone": "Asia/Jakarta"}


class NewJobsSerializer(serializers.Serializer):
    jobs = serializers.ListField(child=JobSerializer(), min_length=1, max_length=MOST_JOBS)
    idempotency_key = KeyField(required=False)


class BulkOutcomeSerializer(serializers.Serializer):
    index = serializers.IntegerField(help_text="The job's place in the list that was sent, from 0.")
    status = serializers.ChoiceField([CREATED, INVALID])
    job = JobRowSerializer(required=False, help_text="What was created.")
    errors = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="What is wrong with each field at fault."
    )


class BulkOutcomesSerializer(serializers.Serializer):
    results = BulkOutcomeSerializer(many=True, help_text="One for each job that was sent, in their order.")
    created = serializers.IntegerField()
    invalid = serializers.IntegerField()


describe_bulk = extend_schema(
    operation_id="create_jobs",
    summary=f"Create up to {MOST_JOBS:,} jobs, each with its own outcome",
    description=(
        "A job that is invalid does not keep the others from being created, so the answer is 200 whatever became of "
        "each: look at `invalid`. It is 400 when there is no list to go through, or one that is empty or too long. All "
        "that are created are stored in one transaction: all of them or, should the database fail, none."
    ),
    request=NewJobsSerializer,
    parameters=[KEY_HEADER, replayed_header(200)],
    responses={200: BulkOutcomesSerializer, **problems(400, 401, 403, 409, 413, 422)},
    examples=[
        OpenApiExample(
            "Two jobs",
            value={
                "jobs": [
                    {"task": "send_email", "payload": MAIL, "schedule": FRIDAYS},
                    {"task": "send_email", "payload": MAIL | {"bdoy": "…"}},
                ]
            },
            request_only=True,
        ),
        OpenApiExample(
            "One outcome of each kind",
            value={
                "results": [
                    {
                        "index": 0,
                        "status": CREATED,
                        "job": {
                            "id": "01a1e389-b509-7876-bc9a-f4107a1b7fb7",
                            "name": "",
                            "task": "send_email",
                            "payload": MAIL,
                            "schedule": FRIDAYS,
                            "priority": "normal",
                            "max_retries": None,
                            "retry_delay": None,
                            "retry_delay_cap": None,
                            "time_limit": None,
                            "lease": None,
                            "misfire": "run_once",
                            "catch_up_window": None,
                            "catch_up_max": None,
                            "overlap": None,
                            "tags": [],
                            "status": "ACTIVE",
                            "next_run_at": "2026-11-20T03:30:00Z",
                            "owner": "dora",
                            "created_at": "2026-11-16T08:46:55.240949Z",
                            "updated_at": "2026-11-16T08:46:55.240949Z",
                            "omitted": [],
                        },
                    },
                    {
                        "index": 1,
                        "status": INVALID,
                        "errors": {"payload.bdoy": "is no field of this payload. Allowed: to, subject, body, html."},
                    },
                ],
                "created": 1,
                "invalid": 1,
            },
            response_only=True,
        ),
    ],
)
