"""Lets go of whole partitions: what that costs depends on what stays, not on how much goes.

The rules are those of `jobs.pruning`: never what is not over, never a dead letter that nobody has discarded, and the
horizon is moved before anything goes. What stays is moved to the default partition. All others wait only while a
partition is detached and what is still somebody's to do is moved, both of which indexes find. A run that was ended
half-way leaves a detached table behind, and the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction

from jobs.models import Horizon
from jobs.models.horizon import OF_ALL
from jobs.partitions.layout import CHILDREN, TABLE, Partition, partitions, short_transaction
from jobs.states import Status

MOST_MOVED = 20_000  # rows of a partition that are not over or dead: everybody waits while they are moved
BATCH = 10_000  # rows of attempts and words in one transaction

# Each in words of an index. What cohorts stand for that nobody has looked at for so long is found by its ids.
TO_DO = (
    "look_at IS NOT NULL",
    "wake_at IS NOT NULL AND id = ANY(ARRAY(SELECT unnest(executions) FROM jobs_cohort))",
    f"shelf = '{Status.FAILED}' AND discarded_at IS NULL",
)
DETACHED = rf"""
    SELECT relname FROM pg_class WHERE relname ~ '^{TABLE}_(first|\d{{8}}_\d{{4}})$' AND relkind = 'r'
    AND NOT relispartition AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = %s::regclass)
    ORDER BY relname
"""


class Dropped(NamedTuple):
    name: str
    why_not: str = ""  # it was left as it is


def drop_before(before: datetime) -> Iterator[Dropped]:
    """Drop every partition whose executions were all due before then, the oldest first."""
    for name in _left_detached():
        yield _finish(name, before)
    for one in partitions():
        if one.end is not None and one.end <= before:
            yield _drop(one, before)


def _left_detached() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(DETACHED, [TABLE])
        return [name for (name,) in cursor.fetchall()]


def _drop(one: Partition, before: datetime) -> Dropped:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {' + '.join(f'(SELECT count(*) FROM {one.name} WHERE {words})' for words in TO_DO)}")
        [(to_do,)] = cursor.fetchall()
    if to_do > MOST_MOVED:
        return Dropped(one.name, f"{to_do:,} of its executions are dead letters or not over; replay or discard them")
    with short_transaction() as cursor:
        Horizon.objects.move({OF_ALL: one.end})
        cursor.execute(f"ALTER TABLE {TABLE} DETACH PARTITION {one.name}")
        for words in TO_DO:
            _move(cursor, one.name, words)
    return _finish(one.name, before)


def _finish(name: str, before: datetime) -> Dropped:
    """From here on nobody waits: the table is out of everybody's sight."""
    with transaction.atomic(), connection.cursor() as cursor:
        # What was due last year may have run this morning, and is kept as long as anything else of this morning.
        _move(cursor, name, "NOT coalesce(finished_at < %s, false)", before)
    for child in CHILDREN:
        _forget_orphans(child, name)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {name}")
    return Dropped(name)


def _move(cursor: Any, name: str, words: str, *values: Any) -> None:
    """To the default partition: no other is for these times any more.

    Taken out of the old one with it: a second time it would come back after it was let go. What a backfill has recorded
    anew since the partition was detached stays as it is.
    """
    cursor.execute(
        f"WITH moved AS (DELETE FROM {name} WHERE {words} RETURNING *) "
        f"INSERT INTO {TABLE} SELECT * FROM moved ON CONFLICT (id) DO NOTHING",
        values,
    )


def _forget_orphans(child: str, name: str) -> None:
    """Rows of executions that are gone with the partition, a batch at a time."""
    statement = f"""
        DELETE FROM {child} WHERE ctid = ANY(ARRAY(
            SELECT orphan.ctid FROM {child} AS orphan
            WHERE execution_id >= (SELECT id FROM {name} ORDER BY id LIMIT 1)
            AND execution_id <= (SELECT id FROM {name} ORDER BY id DESC LIMIT 1)
            AND NOT EXISTS (SELECT FROM {TABLE} WHERE {TABLE}.id = orphan.execution_id)
            LIMIT {BATCH}
        ))
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        while cursor.rowcount:
            cursor.execute(statement)
