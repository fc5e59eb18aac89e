"""What an execution costs, read from the results of the benchmarks."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.keeping import LATEST, kept
from benchmarks.scaling.lateness import price_of_a_round

MICROSECONDS = 1e6  # a second
SERVERS = ("PostgreSQL", "Redis", "RabbitMQ")
OURS = ("poller", "executor", "handlers")


class NotMeasured(Exception):
    """A result that the arithmetic stands on is missing."""


class Costs(NamedTuple):
    """Of one execution, in one mode."""

    mode: str
    cores: int  # of the machine that it was measured on
    cpu_us: dict[str, float]  # by kind of process
    measured_per_s: float  # executions, on that machine, with everything on it
    wal_bytes: float  # written to PostgreSQL's log
    row_bytes: float  # on disk, with indexes
    delete_us: float  # to let go of it, row by row …
    drop_us: float  # … and by the partition
    round_s: float = 0.005  # the price of a poller's round, told by the median lateness at 1,000 a second
    burst_s: float | None = None  # from the instant at which 10,000 were due to the last one's start

    @property
    def total_us(self) -> float:
        return sum(self.cpu_us.values())

    @property
    def predicted_per_s(self) -> float:
        """What that machine could do if processor time were all that counts."""
        return self.cores * MICROSECONDS / self.total_us

    @property
    def error(self) -> float:
        """By how much that is more than what was measured, as a part of it."""
        return self.predicted_per_s / self.measured_per_s - 1


def read_costs() -> list[Costs]:
    """Of the full mode, and of PostgreSQL alone."""
    latest, divided = _kept(LATEST), _kept("partitions.json")["partitions"]
    plain = divided["kinds"]["plain"]
    storage = (
        plain["wal_bytes"],
        plain["bytes_a_row"],
        divided["forget"]["plain"]["us_a_row"],
        divided["forget"]["partitioned"]["us_a_row"],
    )
    cores = latest["run"]["cores"]
    told = {"full": latest["contest"]["ours"], "one database": latest["database"]}
    # What was not seen to use the processor at all is not among the kinds.
    full, alone = (
        Costs(mode, cores, {"Redis": 0.0, "RabbitMQ": 0.0} | one["cpu_us"], one["executions_per_s"], *storage)
        for mode, one in told.items()
    )
    steady = latest["steady"]
    round_s = price_of_a_round(steady["p50_s"], steady["per_s"] / full.measured_per_s)
    return [full._replace(round_s=round_s, burst_s=latest["contest"]["burst"]["all_started_s"]), alone]


def _kept(name: str) -> dict[str, Any]:
    results = kept(name)
    if results is None:
        raise NotMeasured(f"There is no {name} among the results. Make it with `make bench`, or with ONLY=partitions.")
    return results
