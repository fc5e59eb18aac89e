"""What watchers remember from one look to the next, as the row keeps it."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from uuid import UUID

from jobs.alerts.judging import Absences, Cursor, Stalls, Standstill

NOBODY = UUID(int=0)


class Memory(NamedTuple):
    absences: Absences
    standstill: Standstill | None
    failures: Cursor
    place: UUID = NOBODY  # the last open failure that was looked at: there may be too many for one look
    stalls: Stalls = Stalls(MappingProxyType({}))
    resumed: datetime | None = None  # when somebody looked again, after a while in which nobody did

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
            Stalls({task: _instant(since) for task, since in kept.get("stalls", {}).items()}),
            _instant(kept["resumed"]) if kept.get("resumed") else None,
        )

    def has_looked_for(self, patience: timedelta, now: datetime) -> bool:
        """Whether watchers have looked for so long without a gap.

        After one, pollers and executors may just have been started too, as all processes are after a reboot. What they
        make up for within the usual time is not an incident.
        """
        return self.resumed is None or now - self.resumed >= patience

    def kept(self) -> dict[str, Any]:
        return {
            "absent": {role: since.isoformat() for role, since in self.absences.since.items()},
            "standstill": [one.isoformat() for one in self.standstill] if self.standstill else None,
            "after": self.failures.after.isoformat(),
            "seen": sorted([str(pk), at.isoformat()] for pk, at in self.failures.seen),
            "place": str(self.place),
            "stalls": {task: since.isoformat() for task, since in self.stalls.since.items()},
            "resumed": self.resumed.isoformat() if self.resumed else None,
        }


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
