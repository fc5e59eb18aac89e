"""What the OpenAPI schema says of schedules is what their reader accepts."""

from __future__ import annotations

from jobs.api.schedule_schema import SCHEDULE_SCHEMA
from scheduling.recurrence.parsing import _KINDS


def test_the_schema_names_every_kind_of_schedule_with_every_key() -> None:
    told = {
        properties["type"]["enum"][0]: set(properties) - {"type"}
        for properties in (one["properties"] for one in SCHEDULE_SCHEMA["oneOf"])
    }

    assert told == {kind: set(keys) for kind, (keys, _) in _KINDS.items()}
