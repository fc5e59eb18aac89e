"""What watchers remember from one look to the next, as the row keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, Self
from uuid import UUID

from jobs.alerts.judging import Absences, Cursor, Standstill

NOBODY = UUID(int=0)


class Memory(NamedTuple):
    absences: Absences
    standstill: Standstill | None
    failures: Cursor
    place: UUID = NOBODY  # the last open failure that was looked at: there may be too many for one look

    @classmethod
    def read(cls, kept: dict[str, Any], now: datetime) -> Self:
        """Whoever looks for the first time has missed nothing: failures count from now on."""
        return cls(
            Absences({role: _instant(since) for role, since in kept.get("absent", {}).items()}),
            Standstill(*map(_instant, kept["standstill"])) if kept.get("standstill") else None,
            Cursor(_instant(kept["after"]), frozenset((UUID(pk), _instant(at)) for pk, at in kept["seen"]))
            if "after" in kept
            else Cursor(now),
            UUID(kept["place"]) if "place" in kept else NOBODY,
        )

    def kept(self) -> dict[str, Any]:
        return {
            "absent": {role: since.isoformat() for role, since in self.absences.since.items()},
            "standstill": [one.isoformat() for one in self.standstill] if self.standstill else None,
            "after": self.failures.after.isoformat(),
            "seen": sorted([str(pk), at.isoformat()] for pk, at in self.failures.seen),
            "place": str(self.place),
        }


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
