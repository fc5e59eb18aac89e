"""Which partitions there are, and which times they are for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from jobs.ids import EPOCH, lowest_id, time_of

TABLE = "jobs_execution"
FIRST = f"{TABLE}_first"  # what was the whole table before
DEFAULT = f"{TABLE}_default"  # what no other partition is for
CHILDREN = ("jobs_attempt", "jobs_logline", "jobs_progress")  # rows of executions, by `execution_id`
# Room in each page for further versions of its rows: beside the first one, a version is written to no index.
ROOM = "fillfactor = 50"
PATIENCE = "5s"  # for a lock: whoever waits for one makes everybody behind it wait
BOUND = re.compile(r"FROM \((MINVALUE|'[0-9a-f-]{36}')\) TO \('([0-9a-f-]{36})'\)")

PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)"
PARTITIONS = """
    SELECT relname, pg_get_expr(relpartbound, oid), greatest(reltuples, 0)::bigint, pg_total_relation_size(oid)
    FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = %s::regclass
"""


class Partition(NamedTuple):
    name: str
    start: datetime | None  # none: from the beginning, or nothing but what is left over
    end: datetime | None  # none: what is left over
    rows: int  # as PostgreSQL last counted
    bytes: int  # with its indexes

    @property
    def is_default(self) -> bool:
        return self.end is None


def partitioned() -> bool:
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONED, [TABLE])
        [(answer,)] = cursor.fetchall()
    return bool(answer)


def partitions() -> list[Partition]:
    """All of them, by time, the default one last."""
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS, [TABLE])
        found = [Partition(name, *_times(bound), rows, size) for name, bound, rows, size in cursor.fetchall()]
    return sorted(found, key=lambda one: (one.is_default, one.start or EPOCH))


def begin_of_period(instant: datetime, length: timedelta) -> datetime:
    """Periods are counted from the epoch, so that those of a day begin at midnight, UTC."""
    return instant - (instant - EPOCH) % length


def name_of(start: datetime) -> str:
    return f"{TABLE}_{start:%Y%m%d_%H%M}"


@contextmanager
def short_transaction() -> Iterator[Any]:
    """A cursor in a transaction that would rather fail than wait for a lock, which makes all others wait too."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
        yield cursor


def add_partition(cursor: Any, start: datetime, end: datetime) -> str:
    """Made beside the table and attached.

    Where there is a default partition already, PostgreSQL reads all of it to see that nothing there belongs to the new
    one, and whoever needs it waits: so it is to stay small. A constraint that spares the reading would, until the new
    one is attached, refuse what is due in its time.
    """
    name = name_of(start)
    cursor.execute(
        f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) WITH ({ROOM})"
    )
    cursor.execute(
        f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{lowest_id(start)}') TO ('{lowest_id(end)}')"
    )
    return name


def _times(bound: str) -> tuple[datetime | None, datetime | None]:
    found = BOUND.search(bound)
    if found is None:
        return None, None
    start, end = found.groups()
    return None if start == "MINVALUE" else time_of(UUID(start.strip("'"))), time_of(UUID(end))
