"""What one round of the poller takes, with few and with many jobs stored that are not due.

Run as `python -m benchmarks.polling STORED ROUNDS` it is inside an installation, and times the very method that
`run_poller` calls: lease, record, settle, publish, for a batch of recurring jobs. No executor runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

import django

from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes

if TYPE_CHECKING:
    from uuid import UUID

WARM_UP = 3  # rounds
DUE = 500  # jobs a round


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    told = {}
    for name, stored in (("few", sizes.few_stored), ("many", sizes.many_stored)):
        with fleet() as on:
            told[name] = json.loads(on.run("-m", "benchmarks.polling", str(stored), str(sizes.polls)))
        say(f"{told[name]['ms']} ms a round with {stored:,} jobs stored")
    return told


def time_rounds(stored: int, rounds: int) -> dict[str, float]:
    from django.db import connection

    from benchmarks.load import distant, learned, recurring
    from scheduling.processes import make_poller
    from scheduling.rebuild import rebuild

    learned()
    distant(stored)
    due = [job.id for job in recurring(DUE, 3600, every=3600, spread=0)]
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE jobs_job")
    poller = make_poller()
    begun = time.perf_counter()
    rebuild(poller.index)
    rebuilt = time.perf_counter() - begun
    took = [_round(poller, due) for _ in range(WARM_UP + rounds)][WARM_UP:]
    poller.stop()
    return {"stored": stored, "ms": round(median(took) * 1000, 2), "index_rebuilt_s": round(rebuilt, 2)}


def _round(poller: Any, jobs: list[UUID]) -> float:
    from django.utils import timezone

    from jobs.models import Job

    now = timezone.now()
    Job.objects.filter(id__in=jobs).update(next_run_at=now)
    poller.index.put(dict.fromkeys(jobs, now))
    begun = time.perf_counter()
    dispatched = poller.tick()
    took = time.perf_counter() - begun
    if dispatched != len(jobs):
        raise RuntimeError(f"{dispatched} of {len(jobs)} due jobs were dispatched.")
    return took


if __name__ == "__main__":
    django.setup()
    print(json.dumps(time_rounds(int(sys.argv[1]), int(sys.argv[2]))))
