"""What the measurements that are no part of every run put into their tables."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from benchmarks.report.headline import Results, ratio
from benchmarks.report.table import Line, number

FLAT = 1.5  # times: what a hundred times the history may cost at most


def growth(few: dict[str, Any], many: dict[str, Any]) -> dict[str, float]:
    """How many times as long each act takes with the long history."""
    told = {name: ratio(many["ms"].get(name), ms) for name, ms in few["ms"].items()}
    return {name: times for name, times in told.items() if times is not None}


def history_lines(history: dict[str, Any], results: Results) -> Iterator[Line]:
    few, many = history["few"], history["many"]
    for name, times in growth(few, many).items():
        note = f"{number(few['ms'][name], 'ms')} of PostgreSQL's time with {number(few['stored'])} executions in the "
        note += f"history, {number(many['ms'][name], 'ms')} with {number(many['stored'])}"
        if whole := many.get("whole_ms", {}).get(name):
            note += f", {number(whole, 'ms')} in all"
        yield Line(name, f"{times:.2f} ×", note if times <= FLAT else f"GROWS: {note}")


def memory_lines(memory: dict[str, Any], results: Results) -> Iterator[Line]:
    minutes = [seconds / 60 for seconds in memory["at_s"]]
    load = f"{number(memory['per_s'])} executions a second, {number(memory['executed'])} in all"
    for kind, mb in memory["mb"].items():
        note = f"{number(mb[0], 'MB')} at the start, {number(mb[-1], 'MB')} after {minutes[-1]:.1f} minutes; {load}"
        yield Line(f"memory of the {kind}, growth", f"{slope(minutes, mb):+.2f} MB a minute", note)


def soak_lines(soak: dict[str, Any], results: Results) -> Iterator[Line]:
    minutes = [seconds / 60 for seconds in soak["at_s"]]
    load = f"{number(soak['per_s'])} executions a second for {minutes[-1]:.0f} minutes"
    yield Line("executions started", number(sum(soak["started"])), f"{load}; without those that were tried again")
    third = max(1, len(minutes) // 3)
    early, late = (max(soak["p99_s"][part]) for part in (slice(0, third), slice(-third, None)))
    note = f"the worst minute of the last third; of the first third {number(early, 's')}"
    yield Line("lateness, 99 of 100", number(late, "s"), note)
    # What has just come up to its size is no growth: half of the time is given to that.
    half = len(minutes) // 2
    for kind, mb in soak["mb"].items():
        note = f"{number(mb[half], 'MB')} after {minutes[half]:.0f} minutes, {number(mb[-1], 'MB')} at the end"
        yield Line(f"memory of the {kind}, growth", f"{slope(minutes[half:], mb[half:]):+.2f} MB a minute", note)
    note = f"kept for {soak['kept_s']} s; {number(soak['executions'][half])} after {minutes[half]:.0f} minutes; now "
    note += f"{number(soak['jobs'][-1])} jobs, {number(soak['table_mb'][-1], 'MB')} of executions with their indexes; "
    note += f"autovacuum {soak['autovacuum']}"
    yield Line("executions in the history at the end", number(soak["executions"][-1]), note)


def slope(across: list[float], up: list[float]) -> float:
    """Of the straight line that lies closest to all of the points."""
    middle, height = mean(across), mean(up)
    spread = sum((x - middle) ** 2 for x in across)
    return sum((x - middle) * (y - height) for x, y in zip(across, up, strict=True)) / spread if spread else 0.0


def plans_lines(plans: dict[str, Any], results: Results) -> Iterator[Line]:
    told = plans["plans"]
    note = f"{number(plans['stored'])} executions in the history; all of them are in plans.md"
    yield Line("statements explained", number(len(told)), note)
    scans = [f"{one['act']}: {one['place']}" for one in told if one["scanned"]]
    yield Line("of them, those that read a whole table", number(len(scans)), "; ".join(scans) or "none")


SLOTS = {
    "put": "put, a job",
    "lease": "lease, a job",
    "settle": "settle, a job",
    "redis": "… of it Redis' own, lease and settle",
    "idle_poll": "a poll that finds nothing",
}


def slots_lines(slots: dict[str, Any], results: Results) -> Iterator[Line]:
    """Each figure with several slots beside that with one."""
    one, *several = slots["slots"].items()
    for what, words in SLOTS.items():
        against = ", ".join(f"{number(told[what], 'µs')} with {count}" for count, told in several)
        note = f"with {one[0]} slot; {against}; {number(slots['stored'])} jobs stored, {number(slots['batch'])} a batch"
        yield Line(f"due index: {words}", number(one[1][what], "µs"), note)


def partitions_lines(partitions: dict[str, Any], results: Results) -> Iterator[Line]:
    plain, divided = partitions["kinds"]["plain"], partitions["kinds"]["partitioned"]
    load = f"{number(partitions['stored'])} executions, {divided['partitions']} partitions"
    for act, ms in plain["ms"].items():
        times = ratio(divided["ms"][act], ms) or 0.0
        note = f"{number(ms, 'ms')} of PostgreSQL's processor in one table, {number(divided['ms'][act], 'ms')} in "
        yield Line(f"partitions: {act}", f"{times:.2f} ×", f"{note}partitions; {load}")
    for name, words in (("wal_bytes", "written to the log, an execution"), ("bytes_a_row", "on disk, an execution")):
        yield Line(words, number(plain[name], "bytes"), f"one table; {number(divided[name], 'bytes')} in partitions")
    for kind, words in (("plain", "deleted row by row"), ("partitioned", "dropped by the partition")):
        told = partitions["forget"][kind]
        note = f"of PostgreSQL's processor; {number(told['rows'])} in {number(told['seconds'], 's')}; "
        note += f"{number(told['wal_bytes_a_row'], 'bytes')} of log each"
        yield Line(f"history {words}, an execution", number(told["us_a_row"], "µs"), note)
