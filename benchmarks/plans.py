"""By which plan PostgreSQL carries out each hot statement: `EXPLAIN (ANALYZE, BUFFERS)` of what our own code sends.

Run as `python -m benchmarks.plans STORED` it is inside an installation.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import django

from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes
from benchmarks.watching import Asked, took_ms, watched

if TYPE_CHECKING:
    from benchmarks.acts import Act

GROWING = ("jobs_execution", "jobs_job")  # what must never be read from one end to the other
LONGEST = 1_500  # characters of a statement
WIDEST = 240  # characters of a line of a plan: hundreds of ids would follow
WARM_UP = 1  # rounds, so that nothing is explained that happens once


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    with fleet(database_only=True) as on:
        told = json.loads(on.run("-m", "benchmarks.plans", str(sizes.explained)))
    say(f"{len(told['plans'])} statements explained")
    return {"stored": sizes.explained, **told}


def explained(acts: Iterable[Act]) -> list[tuple[str, Asked]]:
    """What each act asks of the tables that grow, with its plan; each statement once."""
    known: dict[tuple[str, str, str], tuple[str, Asked]] = {}
    for act in acts:
        act.before()
        with watched(explain=True) as asked:
            act.do()
        for one in asked:
            if one.plan and any(table in one.statement for table in GROWING):
                known.setdefault((act.name, one.place, _shape(one.statement)), (act.name, one))
    return list(known.values())


def scanned(asked: Asked) -> list[str]:
    """Which of the tables that grow were read from one end to the other."""
    return [table for table in asked.scanned if table.startswith(GROWING)]


def _shape(statement: str) -> str:
    """The statement without what differs from call to call."""
    return re.sub(r"\s+", " ", re.sub(r"\([^()]*'[0-9a-f-]{32,36}'[^()]*\)", "(…)", statement)).strip()


def _told(act: str, asked: Asked) -> dict[str, Any]:
    return {
        "act": act,
        "place": asked.place,
        "statement": _shortened(_shape(asked.statement), LONGEST),
        "plan": "\n".join(_shortened(line, WIDEST) for line in asked.plan.splitlines()),
        "ms": took_ms(asked.plan),
        "scanned": scanned(asked),
    }


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} …"


def main(stored: int) -> dict[str, Any]:
    from benchmarks.history import ready

    acts = ready(stored)
    for _ in range(WARM_UP):
        for act in acts:
            act.before()
            act.do()
    return {"plans": [_told(act, asked) for act, asked in explained(acts)]}


if __name__ == "__main__":
    os.environ["LOG_LEVEL"] = "ERROR"  # workers are lost on purpose
    django.setup()
    print(json.dumps(main(int(sys.argv[1]))))
