"""Every measurement, one after the other: the quiet ones first, while nothing has stirred up the servers.

One that fails is told in the table and costs its own figures only: ten minutes are not to be lost to the last one.
"""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

from benchmarks import (
    contest,
    curve,
    database_only,
    history,
    lone_latency,
    memory,
    partitions,
    plans,
    polling,
    schedules,
    slots,
    soak,
    steady,
    web,
)
from benchmarks.report.headline import Results
from benchmarks.sizes import Sizes

Measurement = Callable[[Sizes, Callable[[str], None]], dict[str, Any]]
USUAL: dict[str, Measurement] = {
    "lone": lone_latency.measure,
    "steady": steady.measure,
    "schedules": schedules.measure,
    "contest": contest.measure,
    "curve": curve.measure,
    "polling": polling.measure,
    "web": web.measure,
    "database": database_only.measure,
}
# Those that take too long to be part of every run; each is kept by itself, with its own date.
FURTHER: dict[str, Measurement] = {
    "plans": plans.measure,
    "history": history.measure,
    "memory": memory.measure,
    "soak": soak.measure,
    "slots": slots.measure,
    "partitions": partitions.measure,
}
MEASUREMENTS = USUAL | FURTHER


def measure(sizes: Sizes, names: Collection[str], say: Callable[[str], None]) -> Results:
    """What each of these measurements told, by its name, and under `run` what it was measured on."""
    begun = time.monotonic()
    results: Results = {
        "run": {
            "date": datetime.now(UTC).date().isoformat(),
            "quick": sizes.quick,
            "rounds": sizes.rounds,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        }
    }
    for name in names:
        started = time.monotonic()
        results[name] = _measured(name, sizes, say)
        say(f"{name}: done in {time.monotonic() - started:.0f} s")
    results["run"]["minutes"] = round((time.monotonic() - begun) / 60, 1)
    return results


def _measured(name: str, sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    try:
        return MEASUREMENTS[name](sizes, lambda words: say(f"{name}: {words}"))
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


def failed(results: Results) -> bool:
    return any("error" in told for told in results.values())
