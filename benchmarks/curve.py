"""What a further executor adds, and where the machine is full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes
from benchmarks.throughput import Crew, ours, prepare


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    """Executions a second by number of executors, one round each."""
    reached = {}
    with fleet() as on:
        prepare(on, sizes.history)
        for executors in sizes.curve:
            [one] = ours(on, sizes.jobs, crew=Crew(sizes.pollers, executors))
            reached[str(executors)] = round(one.executions_per_s, 1)
            say(f"{executors} executor(s): {one.executions_per_s:,.0f}/s")
    return {"executions_per_s": reached}
