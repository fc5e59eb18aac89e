"""How many executions a second without Redis and RabbitMQ: PostgreSQL names what is due, and is the queue too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.burst import Burst, summary
from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes
from benchmarks.throughput import Crew, ours, prepare


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    rounds: list[Burst] = []
    with fleet(database_only=True) as on:
        prepare(on, sizes.history)
        for number in range(1, sizes.rounds + 1):
            rounds += ours(on, sizes.jobs, crew=Crew(sizes.pollers, sizes.executors))
            say(f"round {number}: {rounds[-1].executions_per_s:,.0f}/s")
    fleet_of = {"executors": sizes.executors, "pollers": sizes.pollers}
    return summary(rounds) | fleet_of | {"jobs": sizes.jobs, "history": sizes.history}
