"""When executions were started, by their rows: what the measurements of lateness have in common."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil

from benchmarks.fleet import Fleet

LOOK = 0.25  # seconds between looks
PATIENCE = 60.0  # seconds after the last due time
STARTED = """
    SELECT extract(epoch FROM started_at - due_at)::float FROM jobs_execution
    WHERE due_at >= to_timestamp(%s) AND due_at <= to_timestamp(%s) AND started_at IS NOT NULL
    ORDER BY due_at, id
"""


def lateness(on: Fleet, first: float, last: float, expected: int) -> list[float]:
    """Seconds from due to started, of everything that is due from `first` to `last`, once all of it is started.

    Nothing is asked before it is all due: looking on costs those who are looked at.
    """
    time.sleep(max(0.0, last - time.time()) + LOOK)
    with on.connect() as connection:
        while len(rows := connection.execute(STARTED, [first, last]).fetchall()) < expected:
            on.check()
            if time.time() > last + PATIENCE:
                raise TimeoutError(f"{len(rows)} of {expected} were started within {PATIENCE:.0f} s.")
            time.sleep(LOOK)
    if len(rows) > expected:
        raise RuntimeError(f"{len(rows)} were started where {expected} were due.")
    return [seconds for (seconds,) in rows]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of them does not exceed: one that was measured, never one in between."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share) - 1)]
