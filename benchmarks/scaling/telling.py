"""What the model says, as tables for a page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report.table import number
from benchmarks.scaling.costs import Costs
from benchmarks.scaling.lateness import burst, simulate
from benchmarks.scaling.needs import Assumed, Need, need

RATES = (1_000, 10_000, 100_000)  # executions a second
LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)  # of what can be done
TOLERANCE = 0.15  # by which the model may be off where it can be checked


def told(every: Sequence[Costs]) -> str:
    full = every[0]
    return "\n\n".join([_checked(every), *(_needs(costs) for costs in every), _lateness(full), _assumed(Assumed())])


def _checked(every: Sequence[Costs]) -> str:
    rows = [
        (
            costs.mode,
            number(costs.total_us, "µs"),
            number(costs.predicted_per_s),
            number(costs.measured_per_s),
            f"{costs.error:+.1%}",
        )
        for costs in every
    ]
    cores = every[0].cores
    head = (
        "mode",
        "CPU an execution, measured",
        f"so {cores} cores could do, a second",
        "they did",
        "the model is off",
    )
    return f"Checked where it can be, on the machine that the costs were measured on:\n\n{_table(head, rows)}"


def _needs(costs: Costs) -> str:
    needs = [need(costs, per_s) for per_s in RATES]
    rows: list[tuple[str, ...]] = [
        ("pollers", *(number(one.pollers) for one in needs)),
        ("executors, of a task that does nothing", *(number(one.executors) for one in needs)),
        ("cores for their handlers", *(number(one.handler_cores) for one in needs)),
        ("PostgreSQL, cores", *(number(one.postgres_cores) for one in needs)),
        ("PostgreSQL, log a second", *(number(one.log_mb, "MB") for one in needs)),
        ("PostgreSQL, disk a day of history", *(number(one.disk_gb, "GB") for one in needs)),
        ("partitions a day", *(number(one.partitions_a_day) for one in needs)),
        ("cores to delete as much as comes", *(number(one.delete_cores) for one in needs)),
        ("… to drop it by the partition", *(number(one.drop_cores) for one in needs)),
    ]
    if costs.cpu_us["Redis"]:
        rows[4:4] = [
            ("Redis, cores", *(number(one.redis_cores) for one in needs)),
            ("RabbitMQ, cores", *(number(one.rabbitmq_cores) for one in needs)),
        ]
    head = ("", *(f"{rate:,} a second" for rate in RATES))
    return f"{costs.mode.capitalize()}:\n\n{_table(head, rows)}\n\n{_first(needs[0])}"


def _first(one: Need) -> str:
    return f"What is used up first is {one.first}, at some {number(round(one.first_at, -3))} a second."


def _lateness(costs: Costs) -> str:
    capacity = costs.measured_per_s
    rows = []
    for load in LOADS:
        late = simulate(load * capacity, capacity, costs.round_s)
        rows.append((f"{load:.0%}", number(load * capacity), *(f"{1000 * value:,.0f} ms" for value in late[:2])))
    many = burst(10_000, capacity, costs.round_s)
    head = ("load", "executions a second", "lateness, median", "99 of 100")
    return (
        f"Lateness by load, simulated, where {number(capacity)} a second can be done:\n\n{_table(head, rows)}\n\n"
        f"10,000 due at one instant: the last starts after {number(many.max_s, 's')}; "
        f"measured: {number(costs.burst_s, 's')}."
    )


def _assumed(assumed: Assumed) -> str:
    return (
        f"Assumed, not measured: cores are {assumed.busy:.0%} busy; one PostgreSQL writes {assumed.log_mb:.0f} MB of "
        f"log a second at most and has {assumed.server_cores} cores at most, all of equal use; a Redis uses one core; "
        f"a partition is {assumed.partition_gb:.0f} GB at most. Nothing is in it of networks, replicas and handlers."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
