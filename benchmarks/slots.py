"""What slots of the due index cost a poller: the same jobs in one and in several, in turns, on the same Redis.

Run as `python -m benchmarks.slots STORED ROUNDS` it is inside an installation. Nothing but the index is asked.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

import django

from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes

if TYPE_CHECKING:
    from scheduling.index.redis import RedisDueIndex

COMPARED = (1, 8)
BATCH = 1000  # jobs
WARM_UP = 2  # rounds
IDLE = 50  # questions that find nothing, in one round


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    with fleet() as on:
        told = json.loads(on.run("-m", "benchmarks.slots", str(sizes.indexed), str(sizes.looks)))
    say(f"{told['slots']}")
    return told


def compare(stored: int, rounds: int) -> dict[str, Any]:
    from django.conf import settings

    from jobs.ids import new_job_id
    from scheduling.index.redis import RedisDueIndex

    now = _now()
    jobs = [new_job_id() for _ in range(stored)]
    later = dict.fromkeys(jobs, now + timedelta(days=1))
    indexes = {}
    for slots in COMPARED:
        indexes[slots] = RedisDueIndex(settings.REDIS_URL, prefix=settings.NAME_PREFIX, slots=slots)
        with indexes[slots].rebuilding():
            indexes[slots].restore(later)
    took: dict[int, dict[str, list[float]]] = {slots: defaultdict(list) for slots in COMPARED}
    for _ in range(WARM_UP + rounds):
        for slots, index in indexes.items():
            for what, microseconds in _round(index).items():
                took[slots][what].append(microseconds)
    told = {
        str(slots): {what: round(median(each[WARM_UP:]), 2) for what, each in whats.items()}
        for slots, whats in took.items()
    }
    return {"stored": stored, "batch": BATCH, "slots": told}


def _round(index: RedisDueIndex) -> dict[str, float]:
    """Microseconds: of a batch for each of its jobs, of an idle poll for all of it."""
    from jobs.ids import new_job_id

    now = _now()
    due = dict.fromkeys([new_job_id() for _ in range(BATCH)], now)
    until = now + timedelta(minutes=1)
    spent = {"put": _timed(lambda: index.put(due)) / BATCH}
    used = _redis_seconds(index)
    leased: list[Any] = []
    spent["lease"] = _timed(lambda: leased.extend(index.lease(now=now, until=until, limit=BATCH))) / BATCH
    if len(leased) != BATCH:
        raise RuntimeError(f"{len(leased)} of {BATCH} due jobs were leased.")
    spent["settle"] = _timed(lambda: index.settle(dict.fromkeys(leased))) / BATCH
    spent["redis"] = (_redis_seconds(index) - used) * 1e6 / BATCH
    spent["idle_poll"] = _timed(lambda: [index.lease(now=now, until=until, limit=BATCH) for _ in range(IDLE)]) / IDLE
    return spent


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1e6


def _redis_seconds(index: RedisDueIndex) -> float:
    told = index._redis.info("cpu")
    return told["used_cpu_user"] + told["used_cpu_sys"]


def _now() -> Any:
    from django.utils import timezone

    return timezone.now()


if __name__ == "__main__":
    django.setup()
    print(json.dumps(compare(int(sys.argv[1]), int(sys.argv[2]))))
