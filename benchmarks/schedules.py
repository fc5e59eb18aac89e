"""How many recurring schedules a second are dealt with, when all of them are due at one instant.

Ours counts until the last one is *started*, message, claim and all; for beat a message in the queue is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.burst import notice
from benchmarks.fleet import fleet
from benchmarks.peers.catalogue import CannotMeasure
from benchmarks.peers.run import measure_beat
from benchmarks.sizes import Sizes
from benchmarks.starts import lateness
from benchmarks.throughput import prepare, start_warm

EVERY = 3600  # seconds: long enough for each schedule to come due once in a measurement


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    count = sizes.schedules
    with fleet() as on:
        prepare(on, sizes.history)
        start_warm(on, executors=sizes.executors, pollers=sizes.pollers)
        due = float(on.run("-m", "benchmarks.load", "recurring", str(count), str(notice(count)), str(EVERY), "0"))
        late = lateness(on, due, due, count)
    say(f"{count / max(late):,.0f} schedules/s started")
    return {"schedules": count, "started_per_s": round(count / max(late), 1), "beat": _beat(sizes, say)}


def _beat(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    try:
        told = measure_beat(sizes.schedules, patience=sizes.beat_patience)
    except CannotMeasure as error:
        return {"error": str(error)}
    say(f"django-celery-beat: {told['dispatched_per_s']} schedules/s sent")
    return told
