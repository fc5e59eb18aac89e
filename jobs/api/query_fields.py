"""Values of query parameters: read exactly, or refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from jobs.numbers import read_whole_number

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)  # what ids can tell, and databases compare
LATEST = datetime(9000, 1, 1, tzinfo=UTC)


class WholeNumberField(serializers.IntegerField):
    """A whole number. As text it has one spelling, which `int()` does not insist on."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, str):
            number = read_whole_number(data.removeprefix("-"))
            if number is None:
                self.fail("invalid")
            data = -number if data.startswith("-") else number  # below zero the bounds say what is allowed
        return super().to_internal_value(data)


def is_comparable(instant: datetime) -> bool:
    """Whether ids and databases can tell this instant from others, in whatever zone it is written."""
    return EARLIEST <= instant <= LATEST
