"""A single run."""

from dataclasses import dataclass
from datetime import datetime

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.instants import checked_instant, start_of_search, write_instant


@dataclass(frozen=True)
class Once(Recurrence):
    """One run, at `at`."""

    at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", checked_instant("run_at", self.at))

    def next_after(self, instant: datetime) -> datetime | None:
        start = start_of_search(instant)
        return self.at if start is not None and start < self.at else None

    def first_run(self, now: datetime) -> datetime:
        return self.at  # even if it has just passed: what was accepted runs

    def to_dict(self) -> dict[str, str | int]:
        return {"type": "once", "run_at": write_instant(self.at)}
