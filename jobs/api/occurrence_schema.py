"""What the route of occurrences says of itself in the API's description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema

from jobs.api.occurrences import OccurrenceOptions, OccurrencesSerializer
from jobs.api.problem_schema import problems

DAILY = {"type": "cron", "expression": "30 3 * * *", "timezone": "UTC"}

describe_occurrences = extend_schema(
    operation_id="list_job_occurrences",
    summary="List each due time of a window with what became of it, and why",
    description=(
        "Every due time from `from` on and before `to` by the schedules that the job had then, whether it ran or "
        "not, and the runs that were asked for by hand. However long the window is, an answer has `limit` due times at "
        "most, and is as quick for a century as for an hour: follow `next` for the rest. A page may hold fewer, "
        "or none, and still have a `next`."
    ),
    parameters=[OccurrenceOptions],
    responses={200: OccurrencesSerializer, **problems(400, 401, 404)},
    examples=[
        OpenApiExample(
            "Ran, was missed, was asked for by hand",
            value={
                "next": None,
                "occurrences": [
                    {
                        "due_at": "2026-11-16T03:30:00Z",
                        "cause": "schedule",
                        "outcome": "ran",
                        "missed_because": None,
                        "reason": "",
                        "execution": "01a1e265-1b40-8a7e-8201-0d696d799e5e",
                        "status": "COMPLETED",
                        "started_at": "2026-11-16T03:30:00.041000Z",
                        "late_by": 0.041,
                    },
                    {
                        "due_at": "2026-11-17T03:30:00Z",
                        "cause": "schedule",
                        "outcome": "missed",
                        "missed_because": "paused",
                        "reason": "The job was paused.",
                        "execution": None,
                        "status": None,
                        "started_at": None,
                        "late_by": None,
                    },
                    {
                        "due_at": "2026-11-17T08:12:07.512000Z",
                        "cause": "run_now",
                        "outcome": "ran",
                        "missed_because": None,
                        "reason": "",
                        "execution": "01a1e88e-0f18-8b1c-9f4e-6d1a4f0f6c11",
                        "status": "COMPLETED",
                        "started_at": "2026-11-17T08:12:07.698000Z",
                        "late_by": 0.186,
                    },
                ],
                "periods": [
                    {
                        "from": "2026-11-16T00:00:00Z",
                        "to": "2026-11-16T16:05:31.900000Z",
                        "status": "ACTIVE",
                        "schedule": DAILY,
                    },
                    {
                        "from": "2026-11-16T16:05:31.900000Z",
                        "to": "2026-11-18T00:00:00Z",
                        "status": "PAUSED",
                        "schedule": DAILY,
                    },
                ],
            },
            response_only=True,
            status_codes=["200"],
        )
    ],
)
