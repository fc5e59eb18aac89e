"""Which processes are there, and what they hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from jobs.models import Presence


@dataclass(frozen=True, slots=True)
class Worker:
    role: str
    name: str
    version: str
    since: datetime
    holding: int  # executions of the scope
    room: int  # for how many at once
    tasks: list[str]
    stuck: bool  # it hangs inside a round


def workers(held: Counter[str], now: datetime, *, everybody: bool) -> list[Worker]:
    """Those that are present. `held` is what each executor holds of the scope.

    Of how much a worker holds of others, only who may see everybody is told.
    """
    return [
        Worker(
            one.role,
            one.name,
            one.version,
            one.since,
            (one.holding if everybody else held[one.name]) if one.role == "executor" else 0,
            one.room,
            one.tasks,
            one.stuck,
        )
        for one in Presence.objects.present(now)
    ]
