"""Makes the table of executions a partitioned one, while it is in use and whatever its size.

No row is written anew: the table as it is becomes the first partition, with its indexes. What takes time, to see that
no row is beyond that partition's end, is done before and in nobody's way. The exchange itself is one transaction that
changes the catalog and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from jobs.ids import lowest_id
from jobs.partitions.layout import (
    CHILDREN,
    DEFAULT,
    FIRST,
    ROOM,
    TABLE,
    add_partition,
    begin_of_period,
    partitioned,
    short_transaction,
)
from jobs.partitions.places import places

TIME_TO_CHECK = timedelta(days=1)  # at least: what becomes due meanwhile must be before the end of the first partition
CHECK = f"{TABLE}_before_partitions"
BREAK = f"ALTER TABLE {TABLE} DROP CONSTRAINT IF EXISTS {CHECK}"

VIEWS = """
    SELECT DISTINCT rewritten.ev_class::regclass::text FROM pg_depend
    JOIN pg_rewrite AS rewritten ON rewritten.oid = objid AND classid = 'pg_rewrite'::regclass
    WHERE refobjid = %s::regclass AND refclassid = 'pg_class'::regclass
"""
REFERENCES = """
    SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_constraint
    WHERE confrelid = %s::regclass AND contype = 'f'
"""
TRIGGERS = """
    SELECT quote_ident(tgname), pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal
"""
INDEXES = """
    SELECT quote_ident(relname), indisprimary, pg_get_indexdef(indexrelid) FROM pg_index
    JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = %s::regclass ORDER BY indisprimary DESC, relname
"""


class CannotConvert(Exception):
    """The table cannot be made a partitioned one, for the reason given."""


def convert(*, now: datetime, length: timedelta, ahead: int) -> list[str]:
    """Have executions that are due from some time after tomorrow on in partitions; return the partitions' names."""
    _refuse_what_is_unfit()
    end = begin_of_period(now + max(length, TIME_TO_CHECK), length) + length
    try:
        _promise_an_end(end)
        made = _exchange(end, length, ahead)
    except BaseException:
        _break_the_promise()
        raise
    places.forget()
    return made


def _refuse_what_is_unfit() -> None:
    if connection.vendor != "postgresql":
        raise CannotConvert("Only PostgreSQL has partitions. Set DATABASE_URL to one first.")
    if partitioned():
        raise CannotConvert("Executions are in partitions already. `partitions tend` makes further ones.")
    with connection.cursor() as cursor:
        cursor.execute(VIEWS, [TABLE])
        if views := [name for (name,) in cursor.fetchall()]:
            raise CannotConvert(
                f"These views read {TABLE} and would from then on see its first partition only: {', '.join(views)}. "
                "Drop them, and make them anew afterwards."
            )
        cursor.execute(REFERENCES, [TABLE])
        if strangers := {table for table, _ in cursor.fetchall()} - set(CHILDREN):
            raise CannotConvert(
                f"Foreign keys of tables that are not ours refer to {TABLE}: {', '.join(sorted(strangers))}. "
                "Drop those constraints first: history is let go without asking them."
            )


def _promise_an_end(end: datetime) -> None:
    """All rows, old and new, are before the end: PostgreSQL need not look again when the table becomes a partition."""
    with short_transaction() as cursor:
        cursor.execute(BREAK)  # one that was killed may have left its own
        cursor.execute(f"ALTER TABLE {TABLE} ADD CONSTRAINT {CHECK} CHECK (id < '{lowest_id(end)}') NOT VALID")
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {TABLE} VALIDATE CONSTRAINT {CHECK}")  # the long part, which blocks nobody


def _break_the_promise() -> None:
    """It must not stay behind: from its end on it would refuse every new execution."""
    with connection.cursor() as cursor:
        cursor.execute(BREAK)


def _exchange(end: datetime, length: timedelta, ahead: int) -> list[str]:
    with short_transaction() as cursor:
        cursor.execute(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
        _drop_references(cursor)
        triggers = take_triggers(cursor)
        cursor.execute(INDEXES, [TABLE])
        indexes = cursor.fetchall()
        for name, _, _ in indexes:
            cursor.execute(f"ALTER INDEX {name} RENAME TO {_of_first(name)}")
        cursor.execute(f"ALTER TABLE {TABLE} RENAME TO {FIRST}")
        cursor.execute(
            f"CREATE TABLE {TABLE} (LIKE {FIRST} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) "
            "PARTITION BY RANGE (id)"
        )
        cursor.execute(f"ALTER TABLE {TABLE} DROP CONSTRAINT {CHECK}")
        _make_indexes(cursor, indexes)
        for definition in triggers:
            cursor.execute(definition)  # which every partition has from its parent
        cursor.execute(
            f"ALTER TABLE {TABLE} ATTACH PARTITION {FIRST} FOR VALUES FROM (MINVALUE) TO ('{lowest_id(end)}')"
        )
        cursor.execute(f"ALTER TABLE {FIRST} DROP CONSTRAINT {CHECK}")  # the partition's own bound says it now
        made = [add_partition(cursor, end + place * length, end + (place + 1) * length) for place in range(ahead)]
        cursor.execute(f"CREATE TABLE {DEFAULT} PARTITION OF {TABLE} DEFAULT WITH ({ROOM})")
        return [FIRST, *made, DEFAULT]


def take_triggers(cursor: Any) -> list[str]:
    """Drop those of the table, and return what makes them."""
    cursor.execute(TRIGGERS, [TABLE])
    triggers = cursor.fetchall()
    for name, _ in triggers:
        cursor.execute(f"DROP TRIGGER {name} ON {TABLE}")
    return [definition for _, definition in triggers]


def _drop_references(cursor: Any) -> None:
    """To detach a partition, PostgreSQL would look up every row of it in each of these tables, with all others waiting.

    Nothing else relied on them: rows are written together with their execution, or joined with it, and deleted before.
    """
    cursor.execute(REFERENCES, [TABLE])
    for table, name in cursor.fetchall():
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def _make_indexes(cursor: Any, indexes: Sequence[tuple[str, bool, str]]) -> None:
    """By the names that migrations know; those of the first partition are found to be the same and taken over."""
    for name, primary, definition in indexes:
        cursor.execute(f"ALTER TABLE {TABLE} ADD CONSTRAINT {name} PRIMARY KEY (id)" if primary else definition)


def _of_first(index: str) -> str:
    return f"{index}_of_first"
