"""A batch of rows that SQL can join, in PostgreSQL's words and in SQLite's.

Statements are written once: each starts with `WITH r AS (…)`, made here, and names its
columns unlike the tables' own so that RETURNING needs no prefix (SQLite allows none).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, transaction

from jobs.ledger.arrays import ArrayCursor, array
from jobs.partitions.places import HERE, by_table, known_places
from jobs.states import CLAIMABLE, UNFINISHED, Status

Row = Sequence[Any]
T = TypeVar("T")
Answer = Callable[[Any], T]  # of a cursor that has executed something


def waits(table: str) -> str:
    """SQL: whether the row of `table` waits for a worker.

    Spelled so that the planner cannot match it with the index of what waits: the rows are named by their ids, and a
    plan that looks through all that waits for each of them was seen to take a millisecond a row.
    """
    return _stands_at(table, CLAIMABLE)


def goes_on(table: str) -> str:
    """SQL: whether the row of `table` is not over. Spelled as `waits` is."""
    return _stands_at(table, UNFINISHED)


def _stands_at(table: str, statuses: Iterable[Status]) -> str:
    listed = ", ".join(f"'{status}'" for status in sorted(statuses))
    return f"coalesce({table}.status, '') IN ({listed})"


def run(
    statement: str, columns: Mapping[str, str], rows: Sequence[Row], *, only: str | None = None, **values: Any
) -> list[tuple]:
    """Execute `statement` over `rows` and return what it returns.

    `columns` gives each column of `r` its PostgreSQL type; `%(name)s` in the statement stands for one of `values`.
    `HERE` in place of a table are the executions whose ids are the first column, wherever these are.

    With `only`, these executions are locked first, in the order of their ids, so that no two batches can wait for each
    other. Then `r` has only the rows for whose `locked` one it is true, and it stays true for the length of the
    statement: the guard belongs there, not in the statement.
    """
    return list(chain.from_iterable(_each(statement, columns, rows, only, values, _returned)))


def change(
    statement: str, columns: Mapping[str, str], rows: Sequence[Row], *, only: str | None = None, **values: Any
) -> int:
    """Execute `statement` over `rows` as `run` does, and say how many rows of a table it has changed."""
    return sum(_each(statement, columns, rows, only, values, _changed))


def _each(
    statement: str,
    columns: Mapping[str, str],
    rows: Sequence[Row],
    only: str | None,
    values: Mapping[str, Any],
    answer: Answer[T],
) -> list[T]:
    """What it comes to in each table that the rows are in."""
    if not rows:
        return []
    if HERE not in statement and only is None:
        source, parameters = _source(columns, rows)
        return [_executed(f"WITH r AS ({source}) {statement}", parameters, values, answer)]
    answers: list[T] = []
    with known_places():
        tables = by_table(rows)
        # A batch is written whole or not at all. Some callers open no transaction: it is nearly always one statement.
        with transaction.atomic(savepoint=False) if len(tables) > 1 else nullcontext():
            for table, there in tables:
                source, parameters = _source(columns, there)
                if only is not None:
                    source = _held(source, next(iter(columns)), table, only)
                full = f"WITH r AS ({source}) {statement.replace(HERE, table)}"
                answers.append(_executed(full, parameters, values, answer))
    return answers


def execute(statement: str, parameters: Mapping[str, Any] | None = None, /, **values: Any) -> list[tuple]:
    """Execute `statement` as it is and return what it returns; `parameters` are as the database stores them."""
    return _executed(statement, parameters or {}, values, _returned)


def _executed(statement: str, parameters: Mapping[str, Any], values: Mapping[str, Any], answer: Answer[T]) -> T:
    adapted = {name: _scalar(value) for name, value in values.items()}
    with _cursor() as cursor:
        cursor.execute(statement, {**parameters, **adapted})
        return answer(cursor)


def _returned(cursor: Any) -> list[tuple]:
    return cursor.fetchall() if cursor.description else []


def _changed(cursor: Any) -> int:
    if connection.vendor == "sqlite":  # whose driver counts nothing where a statement begins with WITH
        [(count,)] = cursor.execute("SELECT changes()").fetchall()
        return count
    return cursor.rowcount


@contextmanager
def _cursor() -> Iterator[Any]:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            yield cursor
        return
    # Django's own cursor writes every value into the statement's text, and the server reads it out again. This one
    # sends arrays beside it. Nothing is prepared: a plan made while a table was small would be kept when it is large.
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, ArrayCursor(connection.connection) as cursor:
        yield cursor


def locking(table: str) -> str:
    """What makes a SELECT lock the rows of `table` that it reads. SQLite has one writer at a time anyway."""
    return "" if connection.vendor == "sqlite" else f"FOR NO KEY UPDATE OF {table}"


def among_rows(column: str, key: str) -> str:
    """SQL: whether `column` is the `key` of one of the rows."""
    rows = f"(SELECT {key} FROM r)"
    return f"{column} IN {rows}" if connection.vendor == "sqlite" else f"{column} = ANY(ARRAY{rows})"


def reads_types() -> bool:
    """Whether ids and times come back as what they are. Only SQLite's need the following."""
    return connection.vendor != "sqlite"


def as_uuid(value: Any) -> UUID:
    """An id as it came back: SQLite returns text."""
    return value if isinstance(value, UUID) else UUID(value)


def as_instant(value: datetime | None) -> datetime | None:
    """A time as it came back: SQLite knows no zones."""
    return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


def as_uuids(rows: Iterable[tuple]) -> list[UUID]:
    """The ids in the first column of `rows`."""
    return [as_uuid(value) for value, *_ in rows]


def _source(columns: Mapping[str, str], rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """The rows in SQL, by the order of their first column, and the parameters that it needs."""
    return _sqlite_source(columns, rows) if connection.vendor == "sqlite" else _postgres_source(columns, rows)


def _held(source: str, key: str, table: str, only: str) -> str:
    """Those of the rows whose own row in `table` is as it should be, and is ours to change.

    Looked up one by one on purpose. An UPDATE locks in the order in which its plan comes to the rows: of a small table
    that is the table's own, whatever the order of ours. And asked for a join, PostgreSQL guesses how many will pass the
    guard, and where it guesses one and thousands do, it goes through all of them for each.
    """
    if connection.vendor == "sqlite":  # which has one writer at a time anyway
        return f"SELECT r.* FROM ({source}) AS r JOIN {table} AS locked ON locked.id = r.{key} WHERE {only}"
    return f"""
        SELECT r.* FROM ({source}) AS r CROSS JOIN LATERAL (
            SELECT FROM {table} AS locked WHERE locked.id = r.{key} AND {only} FOR NO KEY UPDATE
        ) AS held
    """


def _postgres_source(columns: Mapping[str, str], rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """The rows as one array a column.

    PostgreSQL is not told how many there are, and takes an array of unknown length for a short one: so it asks the
    index for each row. Told that there are hundreds, it read a table of some ten thousand from end to end for every
    batch.
    """
    many, same = _many_and_same(columns, rows)
    parameters = {f"r_{name}": array(columns[name], values) for name, values in many.items()}
    parameters |= {f"r_{name}": value for name, value in same.items()}
    unnest = ", ".join(f"(SELECT %(r_{name})s::{columns[name]}[])" for name in many)
    constants = "".join(f", %(r_{name})s::{columns[name]} AS {name}" for name in same)
    ordered = f"ORDER BY {next(iter(columns))}"
    return f"SELECT r.*{constants} FROM unnest({unnest}) AS r({', '.join(many)}) {ordered}", parameters


def _many_and_same(columns: Iterable[str], rows: Sequence[Row]) -> tuple[dict[str, tuple], dict[str, Any]]:
    """Columns with their values, and those, never the first, that have one value everywhere: that travels alone."""
    arrays = dict(zip(columns, zip(*rows, strict=True), strict=True))
    key = next(iter(arrays))
    same = {name: array[0] for name, array in arrays.items() if name != key and _all_alike(array)}
    return {name: array for name, array in arrays.items() if name not in same}, same


def _all_alike(values: Sequence[Any]) -> bool:
    first = values[0]
    if type(first) is UUID:
        return values[-1] == first and len({value and value.int for value in values}) == 1
    return values[-1] == first and values.count(first) == len(values)  # most that differ do so at their ends


def _sqlite_source(columns: Mapping[str, str], rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """The rows as one JSON document."""
    many, same = _many_and_same(columns, rows)
    ops = connection.ops  # asked once: `connection` looks up the thread's own each time
    arrays = [[_sqlite_scalar(value, ops) for value in array] for array in many.values()]
    parameters = {f"r_{name}": _sqlite_scalar(value, ops) for name, value in same.items()}
    parameters["r_rows"] = json.dumps(list(zip(*arrays, strict=True)))
    fields = [f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(many)]
    fields += [f"%(r_{name})s AS {name}" for name in same]
    return f"SELECT {', '.join(fields)} FROM json_each(%(r_rows)s)", parameters


def _scalar(value: Any) -> Any:
    """As the database stores it: SQLite has neither ids nor instants of its own."""
    return _sqlite_scalar(value, connection.ops) if connection.vendor == "sqlite" else value


def _sqlite_scalar(value: Any, ops: Any) -> Any:
    if isinstance(value, UUID):
        return value.hex
    return ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
