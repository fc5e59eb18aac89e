"""The page with the plan of every hot statement."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from benchmarks.report.headline import Results


def plans_page(results: Results) -> str:
    run, plans = results["run"], results["plans"]
    parts = [
        "# How PostgreSQL carries out each hot statement",
        f"Made by `make bench ONLY=plans` on {run['date']}, with {plans['stored']:,} executions in the history. Each "
        "statement is what our own code sent, explained with `EXPLAIN (ANALYZE, BUFFERS)` in a transaction that was "
        "rolled back.",
    ]
    for act, told in groupby(plans["plans"], key=lambda one: one["act"]):
        parts.append(f"## {act[0].upper()}{act[1:]}")
        parts += [part for one in told for part in _of(one)]
    return "\n\n".join(parts) + "\n"


def _of(one: dict[str, Any]) -> list[str]:
    reads = f" **It reads all of {', '.join(one['scanned'])}.**" if one["scanned"] else ""
    return [
        f"`{one['place']}`: {one['ms']:.2f} ms.{reads}",
        f"```sql\n{one['statement']}\n```",
        f"```\n{one['plan']}\n```",
    ]
