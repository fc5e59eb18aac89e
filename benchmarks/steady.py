"""How late executions start under a steady load: jobs that are due every second, spread evenly over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.burst import notice
from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes
from benchmarks.starts import lateness, percentile
from benchmarks.throughput import prepare, start_warm

WARM_UP = 5  # seconds of the load before those that count
INSTANT = 0.000_5  # seconds: half of what lies between two due times, so that a period has all of its own
EVERY, SPREAD = 1, 1.0  # seconds


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    """Lateness at so many executions a second, over some seconds."""
    with fleet() as on:
        prepare(on, sizes.history)
        start_warm(on, executors=sizes.executors)
        jobs, ahead = str(sizes.repeating), str(notice(sizes.repeating))
        first = float(on.run("-m", "benchmarks.load", "recurring", jobs, ahead, str(EVERY), str(SPREAD)))
        since = first + WARM_UP * EVERY - INSTANT
        late = lateness(on, since, since + sizes.steady, sizes.repeating * sizes.steady)
    say(f"99 of 100 started within {percentile(late, 0.99):.3f} s")
    return {
        "per_s": sizes.repeating,
        "seconds": sizes.steady,
        "p50_s": round(percentile(late, 0.5), 4),
        "p90_s": round(percentile(late, 0.9), 4),
        "p99_s": round(percentile(late, 0.99), 4),
        "max_s": round(max(late), 4),
    }
