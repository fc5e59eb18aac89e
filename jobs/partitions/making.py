"""Makes partitions for the times to come, so that no execution has to go to the default one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection

from jobs.ids import lowest_id
from jobs.partitions.layout import (
    DEFAULT,
    add_partition,
    begin_of_period,
    name_of,
    partitions,
    short_transaction,
)


class Made(NamedTuple):
    names: list[str]
    passed_over: list[str]  # because executions of that time are in the default partition already: they stay there


def make_ahead(*, now: datetime, length: timedelta, ahead: int) -> Made:
    """Have partitions from the last one on until `ahead` periods after this one."""
    made = Made([], [])
    until = begin_of_period(now, length) + (ahead + 1) * length
    start = max(one.end for one in partitions() if one.end is not None)
    # What nobody made in time has gone to the default partition, and is best left there.
    start = max(start, begin_of_period(now, length))
    while start < until:
        end = begin_of_period(start, length) + length
        if _left_over(start, end):
            made.passed_over.append(name_of(start))
        else:
            with short_transaction() as cursor:
                made.names.append(add_partition(cursor, start, end))
        start = end
    return made


def _left_over(start: datetime, end: datetime) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT FROM {DEFAULT} WHERE id >= %s AND id < %s)", [lowest_id(start), lowest_id(end)]
        )
        [(answer,)] = cursor.fetchall()
    return answer
