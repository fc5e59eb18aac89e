"""New rows, any number of them in one statement.

Django's `bulk_create` needs a statement for every forty jobs on SQLite, and on PostgreSQL writes all
values into the statement's text. Columns are the model's own: a new one needs no word here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import AutoField, Field, JSONField, Model

from jobs.ledger.batch import run


class Shape(NamedTuple):
    """How the rows of a model are written down."""

    statement: str
    columns: dict[str, str]
    read: Callable[[Model], tuple]
    documents: list[int]  # the places of columns that are JSON


def insert(rows: Sequence[Model]) -> None:
    """Insert rows that are all of one model, all or none.

    What `save` would fill in, such as `auto_now`, must be set; a key that the database counts up stays unknown.
    """
    if not rows:
        return
    shape = _shape(type(rows[0]))
    run(shape.statement, shape.columns, [_values(row, shape) for row in rows])
    for row in rows:
        row._state.adding = False
        row._state.db = connection.alias


def _values(row: Model, shape: Shape) -> list[Any]:
    values = list(shape.read(row))
    for place in shape.documents:
        if values[place] is not None:
            values[place] = json.dumps(values[place])
    return values


@cache
def _shape(model: type[Model]) -> Shape:
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
    names = ", ".join(field.column for field in fields)
    return Shape(
        statement=f"INSERT INTO {model._meta.db_table} ({names}) SELECT {names} FROM r",
        columns={field.column: _kind(field) for field in fields},
        read=attrgetter(*(field.attname for field in fields)),
        documents=[place for place, field in enumerate(fields) if isinstance(field, JSONField)],
    )


def _kind(field: Field) -> str:
    """The column's type in PostgreSQL; SQLite asks for none."""
    kind = field.db_type(connection)
    # Cast to varchar(200), a longer text would be cut off in silence; as text it is refused.
    return "text" if kind.startswith("varchar") else kind.replace("timestamp with time zone", "timestamptz")
