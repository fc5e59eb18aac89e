"""What the route of backfills says of itself in the API's description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema

from jobs.api.backfill import BackfillSerializer, NewBackfillSerializer
from jobs.api.problem_schema import problems
from jobs.backfill import MOST

JOB = "http://127.0.0.1:8000/api/v1/jobs/01a1e389-b509-7876-bc9a-f4107a1b7fb7"
WINDOW = {"from": "2026-11-10T00:00:00Z", "to": "2026-11-12T00:00:00Z"}
WOULD_BE_MADE = {
    "dry_run": True,
    "count": 46,
    "first": "2026-11-10T00:00:00Z",
    "last": "2026-11-11T23:00:00Z",
    "skipped": 3,
    "missed": 43,
    "left_alone": 2,
    "rate": 60,
    "seconds": 45.0,
    "occurrences": f"{JOB}/occurrences?from=2026-11-10T00%3A00%3A00Z&to=2026-11-12T00%3A00%3A00Z",
    "executions": f"{JOB}/executions?cause=backfill",
}

describe_backfill = extend_schema(
    operation_id="backfill_job",
    summary="Make up for due times that passed without a run",
    description=(
        "Records an execution for each due time from `from` on and before `to` that was missed or skipped. What has "
        "run, runs, waits or was cancelled is left alone, so repeating the call makes nothing twice. The executions "
        "get the job's present payload and start one after the other, `rate` a minute. Without `dry_run: false` "
        f"nothing is made, and the answer (200) says what would be. A window has {MOST:,} due times at "
        "most; for a longer one the error says how much of it fits."
    ),
    request=NewBackfillSerializer,
    responses={200: BackfillSerializer, 202: BackfillSerializer, **problems(400, 401, 403, 404, 409)},
    examples=[
        OpenApiExample("A dry run", value=WINDOW, request_only=True),
        OpenApiExample("At ten a minute", value=WINDOW | {"dry_run": False, "rate": 10}, request_only=True),
        OpenApiExample("What would be made", value=WOULD_BE_MADE, response_only=True, status_codes=["200"]),
        OpenApiExample(
            "What is made",
            value=WOULD_BE_MADE | {"dry_run": False, "rate": 10, "seconds": 270.0},
            response_only=True,
            status_codes=["202"],
        ),
    ],
)
