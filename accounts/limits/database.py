"""Buckets in the database: a row each, and one statement for a draw."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.db import connection

from accounts.limits.base import Allowance, Buckets, Draw
from accounts.models import Bucket

NOW = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"  # the one clock all machines share
WAITED = 1_000_000  # microseconds that whoever waited for its turn may be behind the one before it, which wrote its own
SWEPT = 20  # rows a sweep: more than a sign-in makes
# `max` of two values is SQLite's word for PostgreSQL's `greatest`. Where a rival was quicker, the row is locked and
# read again before it is compared, so no two take the same token.
TAKE = """
    INSERT INTO accounts_bucket AS b (name, full_at, admitted)
    SELECT %(name{n})s, {now} + %(step{n})s, true WHERE {allowed}
    ON CONFLICT (name) DO UPDATE SET
        admitted = {greatest}(b.full_at, {now}) + %(step{n})s - {now} <= %(span{n})s,
        full_at = CASE WHEN {greatest}(b.full_at, {now}) + %(step{n})s - {now} <= %(span{n})s
            THEN {greatest}(b.full_at, {now}) + %(step{n})s ELSE b.full_at END
    RETURNING admitted, full_at - {now} AS full_in
"""


class DatabaseBuckets(Buckets):
    def take(self, allowances: Sequence[Allowance]) -> list[Draw]:
        rows = _in_process(allowances) if connection.vendor == "sqlite" else _at_once(allowances)
        return [
            Draw(allowance, bool(admitted), full_in)
            for allowance, (admitted, full_in) in zip(allowances, rows, strict=False)
        ]

    def give_back(self, allowances: Sequence[Allowance]) -> None:
        """Undo draws that turned out not to count."""
        for one in allowances:
            _run("UPDATE accounts_bucket SET full_at = full_at - %(step)s WHERE name = %(name)s", _values(one))

    def sweep(self, most: int = SWEPT) -> None:
        """Clear away some buckets that have long been full."""
        full = Bucket.objects.filter(full_at__lt=_own_clock() - 3_600_000_000).order_by("full_at")
        # Asked again: one of these may have been taken from a moment ago.
        full.filter(pk__in=list(full.values_list("pk", flat=True)[:most])).delete()


def _at_once(allowances: Sequence[Allowance]) -> list[tuple]:
    """PostgreSQL: a chain of draws in one statement, each of which looks whether the one before was given anything."""
    draws, values = [], {}
    for n, one in enumerate(allowances):
        allowed = f"(SELECT admitted FROM draw{n - 1})" if n else "true"
        take = TAKE.format(n=n, now=NOW, greatest="greatest", allowed=allowed)
        draws.append(f"draw{n} AS ({take})")
        values |= _values(one, n)
    answers = " UNION ALL ".join(f"SELECT {n} AS place, admitted, full_in FROM draw{n}" for n in range(len(draws)))
    return [row[1:] for row in _run(f"WITH {', '.join(draws)} {answers} ORDER BY place", values)]


def _in_process(allowances: Sequence[Allowance]) -> list[tuple]:
    """SQLite: the database is this very process, so a statement each costs no round trip."""
    rows: list[tuple] = []
    for one in allowances:
        take = TAKE.format(n=0, now="%(now)s", greatest="max", allowed="true")
        rows += _run(take, _values(one, 0) | {"now": _own_clock()})
        if not rows[-1][0]:
            break
    return rows


def _values(allowance: Allowance, n: int | str = "") -> dict[str, Any]:
    # What is left must not look taken because of that. Half a step more is no further token.
    span = allowance.span + min(WAITED, allowance.step // 2)
    return {f"name{n}": allowance.name, f"step{n}": allowance.taken, f"span{n}": span}


def _own_clock() -> int:
    return time.time_ns() // 1000


def _run(statement: str, values: dict[str, Any]) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
