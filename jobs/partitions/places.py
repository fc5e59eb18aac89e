"""In which table executions are: by their ids, for statements that name their rows by nothing else.

Asked to join a partitioned table, PostgreSQL plans for every partition and guesses badly; asked about one partition by
its name, it does as with any table. So statements of the hot path say `HERE`, and are sent once for each partition that
their rows are in: nearly always one.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import groupby
from typing import Any, NamedTuple

from django.db import ProgrammingError, connection

from jobs.clock import database_now
from jobs.ids import lowest_id
from jobs.partitions.layout import TABLE, partitioned, partitions

HERE = "executions_here"  # in a statement
ASK_AGAIN_AFTER = 60.0  # seconds: partitions are made days ahead
NAMED = timedelta(days=2)  # after a partition's end: what is not over by then is little, and asked of the whole
LEAST_KEPT = NAMED + timedelta(days=1)  # a day more: what a process knows, and what it does by that, may be old


class Known(NamedTuple):
    """Tables, each by the number of the first id that is in it."""

    starts: Sequence[int]
    tables: Sequence[str]

    def of(self, identifier: int) -> str:
        return self.tables[bisect_right(self.starts, identifier) - 1]


ONE_TABLE = Known([0], [TABLE])


class Places:
    """The partitions as they were a minute ago, or so. Threads share it: what one was given stays as it is.

    One that is not known yet is no harm, its rows are found in the table as a whole. So are those of one that is old:
    in a partition that was detached since, a statement would find nothing, and its rows would be taken for gone.
    """

    def __init__(self) -> None:
        self._known = ONE_TABLE
        self.forget()

    def forget(self) -> None:
        """Ask anew the next time. Whoever goes by the last answer already goes on with it."""
        self._ask_at = 0.0

    def known(self) -> Known:
        if connection.vendor == "sqlite":
            return ONE_TABLE
        if (now := time.monotonic()) >= self._ask_at:
            self._ask_at = now + ASK_AGAIN_AFTER
            self._known = self._learned()
        return self._known

    @staticmethod
    def _learned() -> Known:
        if not partitioned():
            return ONE_TABLE
        starts, tables = [0], [TABLE]
        oldest = database_now() - NAMED
        for one in partitions():
            if one.end is None or one.end <= oldest:
                continue  # what is left over is wherever no other partition is
            start = 0 if one.start is None else lowest_id(one.start).int
            if start == starts[-1]:
                tables[-1] = one.name
            else:
                starts.append(start)
                tables.append(one.name)
            starts.append(lowest_id(one.end).int)
            tables.append(TABLE)
        return Known(starts, tables)


places = Places()


@contextmanager
def known_places() -> Iterator[None]:
    """For statements by table: one that meets a partition that somebody dropped fails; the next one knows better."""
    try:
        yield
    except ProgrammingError:
        places.forget()
        raise


def by_table(rows: Sequence[Any]) -> list[tuple[str, Sequence[Any]]]:
    """Rows whose first column is an execution's id, each with others of the same table, by the order of ids."""
    known = places.known()
    if len(known.tables) == 1:
        return [(TABLE, rows)]
    ordered = sorted(rows, key=_identifier)
    return [(table, list(there)) for table, there in groupby(ordered, key=lambda row: known.of(_identifier(row)))]


def _identifier(row: Any) -> int:
    return row[0].int
