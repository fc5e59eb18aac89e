"""How many of everything a load needs, and which of them is the first to be too few. Pure."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from benchmarks.scaling.costs import MICROSECONDS, Costs

DAY = 86_400  # seconds


class Assumed(NamedTuple):
    """What was not measured here, each with its reason."""

    busy: float = 0.7  # of a core: above, queues grow faster than loads do
    log_mb: float = 200.0  # a second that one PostgreSQL writes to its log and sends to a replica: a good local disk
    server_cores: int = 64  # of the largest machine for one PostgreSQL; that each is of the same use is assumed too
    partition_gb: float = 200.0  # that is still vacuumed, dumped and restored in reasonable time
    redis_cores: int = 1  # a Redis runs commands on one thread; each node of a cluster has its own
    handler_ms: float = 0.0  # that a handler waits for others, besides what the scheduler does
    threads: int = 16  # handlers at once in an executor


class Need(NamedTuple):
    per_s: float
    pollers: int
    executors: int
    handler_cores: float
    postgres_cores: float
    redis_cores: float
    rabbitmq_cores: float
    log_mb: float  # a second
    disk_gb: float  # a day
    partitions_a_day: int
    delete_cores: float  # to let as much go as comes, row by row
    drop_cores: float  # … by the partition
    first: str  # to be too few
    first_at: float  # executions a second: where it is


def need(costs: Costs, per_s: float, assumed: Assumed | None = None) -> Need:
    assumed = assumed or Assumed()
    cores = {kind: per_s * each / MICROSECONDS for kind, each in costs.cpu_us.items()}
    disk_gb = per_s * DAY * costs.row_bytes / 1e9
    first, first_at = saturates_first(costs, assumed)
    return Need(
        per_s=per_s,
        # Python runs on one core a process, so each kind needs a process for each core's worth.
        pollers=max(2, _whole(cores["poller"] / assumed.busy)),
        executors=max(
            2, _whole(cores["executor"] / assumed.busy), _whole(per_s * assumed.handler_ms / 1000 / assumed.threads)
        ),
        handler_cores=cores["handlers"] / assumed.busy,
        postgres_cores=cores["PostgreSQL"] / assumed.busy,
        redis_cores=cores["Redis"] / assumed.busy,
        rabbitmq_cores=cores["RabbitMQ"] / assumed.busy,
        log_mb=per_s * costs.wal_bytes / 1e6,
        disk_gb=disk_gb,
        partitions_a_day=max(1, _whole(disk_gb / assumed.partition_gb)),
        delete_cores=per_s * costs.delete_us / MICROSECONDS,
        drop_cores=per_s * costs.drop_us / MICROSECONDS,
        first=first,
        first_at=first_at,
    )


def _whole(count: float) -> int:
    return ceil(round(count, 6))  # or a rounding error would be one more


def saturates_first(costs: Costs, assumed: Assumed) -> tuple[str, float]:
    """What cannot be had more of by starting another process, and the load at which it is used up."""
    limits = {
        "PostgreSQL's log": assumed.log_mb * 1e6 / costs.wal_bytes,
        "PostgreSQL's cores": assumed.server_cores * assumed.busy * MICROSECONDS / costs.cpu_us["PostgreSQL"],
    }
    if costs.cpu_us["Redis"]:
        limits["one Redis"] = assumed.redis_cores * assumed.busy * MICROSECONDS / costs.cpu_us["Redis"]
    first = min(limits, key=lambda name: limits[name])
    return first, limits[first]
