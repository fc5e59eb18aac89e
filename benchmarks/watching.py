"""What our own code asks of PostgreSQL while it runs: which statements, how long each took, and by which plan.

Statements are seen where psycopg sends them, whoever wrote them: Django, or the ledger on a cursor of its own. So
nothing here has to be changed when the hot path is.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

OURS = ("accounts", "benchmarks", "execution", "jobs", "scheduling")
MERELY_SENDS = (__name__, "jobs.ledger.batch")  # modules that say nothing of what a statement is for
EXPLAINED = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
SCANNED = re.compile(r"\bSeq Scan on (\w+)(?!.*\(never executed\))")
TOOK = re.compile(r"^Execution Time: ([\d.]+) ms", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """One statement, as it was sent."""

    place: str  # the function of ours that sent it
    statement: str
    seconds: float
    plan: str = ""

    @property
    def scanned(self) -> list[str]:
        """The tables that were read from one end to the other."""
        return sorted(set(SCANNED.findall(self.plan)))


@contextmanager
def watched(*, explain: bool = False) -> Iterator[list[Asked]]:
    """Note every statement of this process for the length of a `with` block.

    With `explain`, each is carried out once more before, explained, and rolled back: in its own transaction and on the
    rows that it will find.
    """
    asked: list[Asked] = []
    send = psycopg.Cursor.execute

    def execute(cursor: Any, query: Any, params: Any = None, **options: Any) -> Any:
        plan = _plan(send, cursor, query, params) if explain and EXPLAINED.match(_text(query)) else ""
        begun = time.perf_counter()
        answer = send(cursor, query, params, **options)
        asked.append(Asked(_place(), _text(query), time.perf_counter() - begun, plan))
        return answer

    psycopg.Cursor.execute = execute  # type: ignore[method-assign]
    try:
        yield asked
    finally:
        psycopg.Cursor.execute = send  # type: ignore[method-assign]


def _plan(send: Any, cursor: Any, query: Any, params: Any) -> str:
    """A cursor of the same kind, because how values travel may decide how the statement is planned."""
    kind = psycopg.ClientCursor if isinstance(cursor, psycopg.ClientCursor) else type(cursor)
    connection = cursor.connection
    with connection.transaction(force_rollback=True), kind(connection) as other:
        send(other, f"EXPLAIN (ANALYZE, BUFFERS) {_text(query)}", params)
        return "\n".join(line for (line,) in other.fetchall())


def took_ms(plan: str) -> float:
    found = TOOK.search(plan)
    return float(found[1]) if found else 0.0


def _text(query: Any) -> str:
    return query if isinstance(query, str) else query.as_string() if hasattr(query, "as_string") else query.decode()


def _place() -> str:
    """The innermost function of ours that has an interest of its own in what is sent."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in OURS and module not in MERELY_SENDS:
            return f"{module}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return ""
