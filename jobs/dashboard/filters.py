"""The filters in the address of a list: each is applied, or refused with a message. None is ignored.

A list whose filter is refused shows nothing: all rows would look as if they matched.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.http import QueryDict

from jobs.dashboard.windows import LIVE

POSITIONS = ("before", "after")  # ids: see `jobs.dashboard.paging`
LONGEST = 100  # characters of a value that a message repeats


class Filters:
    def __init__(self, asked: QueryDict, known: Collection[str]) -> None:
        self._asked = asked
        self.faults = [f"Unknown filter: {name[:LONGEST]}." for name in asked if name not in (*known, *POSITIONS, LIVE)]
        self.faults += [f"Repeated filter: {name[:LONGEST]}." for name in asked if len(asked.getlist(name)) > 1]
        for name in POSITIONS:
            self.identifier(name)
        self.narrowed = any(asked.get(name) for name in known) or bool(self.faults)

    def text(self, name: str) -> str:
        text = self._asked.get(name, "").strip()
        if "\0" in text:  # which PostgreSQL cannot compare with
            self.refuse(f"{name}: the NUL character is not allowed.")
            return ""
        return text

    def choice(self, name: str, choices: Collection[str]) -> str:
        wanted = self.text(name)
        if wanted and wanted not in choices:
            self.refuse(f"Unknown {name}: {wanted[:LONGEST]}. Choose one of {', '.join(choices)}.")
            return ""
        return wanted

    def offered(self, name: str, choices: Collection[str]) -> list[str]:
        """The choices for a form: also the one that is applied, or the form would show that none is."""
        return sorted({*choices, self.text(name)} - {""})

    def identifier(self, name: str) -> UUID | None:
        wanted = self.text(name)
        try:
            return UUID(wanted) if wanted else None
        except ValueError:
            self.refuse(f"Invalid {name} id: {wanted[:LONGEST]}.")
            return None

    def refuse(self, message: str) -> None:
        self.faults.append(message)
