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
