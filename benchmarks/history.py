"""What a long history costs those who do not ask for it: every act and every page, with a short one and a long one.

Run as `python -m benchmarks.history STORED ROUNDS` it is inside an installation, and times what PostgreSQL takes for
the statements of each act. All of it is on the database alone: what the history could slow down is there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

import django

from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes
from benchmarks.watching import watched

if TYPE_CHECKING:
    from benchmarks.acts import Act

WARM_UP = 2  # rounds
JOBS = 1_000  # that the history is spread over
DISTANT = 50_000  # jobs besides that are not due, at least, and …
OF_TEN = 10  # … one for each so many executions


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    told = {}
    for name, stored in (("few", sizes.short_history), ("many", sizes.long_history)):
        with fleet(database_only=True) as on:
            told[name] = json.loads(on.run("-m", "benchmarks.history", str(stored), str(sizes.looks)))
        say(f"{stored:,} executions stored and looked at")
    return told


def time_acts(stored: int, rounds: int) -> dict[str, Any]:
    from django.db import DatabaseError, connection

    acts = ready(stored)
    with connection.cursor() as cursor, suppress(DatabaseError):
        cursor.execute("CHECKPOINT")  # or what was stored is still being written while others are timed
    took: dict[str, list[float]] = defaultdict(list)
    whole: dict[str, list[float]] = defaultdict(list)  # … with our own part, from the request to the answer
    for _ in range(WARM_UP + rounds):
        for act in acts:
            act.before()
            begun = time.perf_counter()
            with watched() as asked:
                act.do()
            whole[act.name].append(time.perf_counter() - begun)
            took[act.name].append(sum(one.seconds for one in asked))
    return {
        "stored": stored,
        "ms": {name: round(median(seconds[WARM_UP:]) * 1000, 3) for name, seconds in took.items()},
        "whole_ms": {name: round(median(seconds[WARM_UP:]) * 1000, 1) for name, seconds in whole.items()},
    }


def ready(stored: int) -> list[Act]:
    """Store a history of so many executions, and return everything that is done and looked at on it."""
    from django.utils import timezone

    from benchmarks.acts import Day
    from benchmarks.dashboard import Dashboard
    from benchmarks.load import history, various
    from benchmarks.pages import Pages

    history(stored, of_jobs=JOBS)
    various(max(DISTANT, stored // OF_TEN))
    pages = Pages(timezone.now() - timedelta(seconds=stored / 2))
    return [*Day().acts(), *pages.acts(), *pages.narrowed(), *pages.searched(), *Dashboard().acts()]


if __name__ == "__main__":
    os.environ["LOG_LEVEL"] = "ERROR"  # workers are lost on purpose
    django.setup()
    print(json.dumps(time_acts(int(sys.argv[1]), int(sys.argv[2]))))
