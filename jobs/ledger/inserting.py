"""New rows, any number of them in one statement.

Django's `bulk_create` needs a statement for every forty jobs on SQLite, and on PostgreSQL writes all
values into the statement's text. Rows are plain tuples: to make a model of each takes longer than to store it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Field, JSONField, Model
from pydantic_core import to_json

from jobs.ledger.batch import Row, run


class Shape(NamedTuple):
    """How the rows of a model are written down."""

    statement: str
    columns: dict[str, str]
    documents: list[int]  # the places of columns that are JSON


def insert(model: type[Model], names: tuple[str, ...], rows: Sequence[Row]) -> None:
    """Insert rows of one model, all or none. `names` are the columns that each row has a value for, in its order.

    What `save` would fill in, such as a default or `auto_now`, must be among them.
    """
    shape = _shape(model, names)
    run(shape.statement, shape.columns, list(_written(rows, shape.documents)))


def _written(rows: Sequence[Row], documents: list[int]) -> Iterable[Row]:
    for row in rows:
        values: list[Any] = list(row)
        for place in documents:
            if values[place] is not None:
                values[place] = to_json(values[place]).decode()
        yield values


@cache
def _shape(model: type[Model], names: tuple[str, ...]) -> Shape:
    known = {field.attname: field for field in model._meta.concrete_fields}
    fields = [known[name] for name in names]
    listed = ", ".join(field.column for field in fields)
    return Shape(
        statement=f"INSERT INTO {model._meta.db_table} ({listed}) SELECT {listed} FROM r",
        columns={field.column: _kind(field) for field in fields},
        documents=[place for place, field in enumerate(fields) if isinstance(field, JSONField)],
    )


def _kind(field: Field) -> str:
    """The column's type in PostgreSQL; SQLite asks for none."""
    kind = field.db_type(connection)
    # Cast to varchar(200), a longer text would be cut off in silence; as text it is refused.
    return "text" if kind.startswith("varchar") else kind.replace("timestamp with time zone", "timestamptz")
