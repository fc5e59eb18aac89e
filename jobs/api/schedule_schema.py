"""A schedule as the OpenAPI schema tells it. What is accepted is decided by `scheduling.recurrence` alone."""

from __future__ import annotations

from typing import Any

from scheduling.recurrence import OnGap, OnRepeat
from scheduling.recurrence.every import LONGEST, SHORTEST
from scheduling.recurrence.jitter import LONGEST_JITTER

INSTANT = {"type": "string", "format": "date-time"}
RECURRING = {
    "start_at": INSTANT
    | {
        "description": "No run earlier than this. An interval's first run is at it; "
        "without it, one interval after the schedule is set."
    },
    "end_at": INSTANT | {"description": "No run later than this."},
    "max_runs": {"type": "integer", "minimum": 1, "description": "No more runs than this, by the schedule."},
    "jitter": {
        "type": "integer",
        "minimum": 1,
        "maximum": LONGEST_JITTER,
        "description": "Seconds: each run starts late by less than this, by a delay of the job's own.",
    },
}
KINDS: tuple[tuple[str, str, dict[str, Any], list[str]], ...] = (
    ("Now", "now", {}, []),
    ("Once", "once", {"run_at": INSTANT}, ["run_at"]),
    (
        "Interval",
        "interval",
        {"seconds": {"type": "integer", "minimum": SHORTEST, "maximum": LONGEST}, **RECURRING},
        ["seconds"],
    ),
    (
        "Cron",
        "cron",
        {
            "expression": {"type": "string", "maxLength": 128, "example": "30 10 * * 5"},
            "timezone": {"type": "string", "default": "UTC", "example": "Asia/Jakarta"},
            **RECURRING,
            "on_gap": {
                "type": "string",
                "enum": [str(one.value) for one in OnGap],
                "description": "What becomes of a time that the clocks skip.",
            },
            "on_repeat": {
                "type": "string",
                "enum": [str(one.value) for one in OnRepeat],
                "description": "What becomes of a time that the clocks show twice.",
            },
        },
        ["expression"],
    ),
)
SCHEDULE_SCHEMA = {
    "oneOf": [
        {
            "type": "object",
            "title": title,
            "properties": {"type": {"type": "string", "enum": [kind]}, **properties},
            "required": ["type", *required],
            "additionalProperties": False,
        }
        for title, kind, properties, required in KINDS
    ]
}
