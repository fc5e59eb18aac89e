"""Rows as lists read them: documents that are long stay in the database, and the row says which.

A page of 200 rows with half a megabyte each would take a gigabyte of a web process's memory. To get a
whole document, read its row.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, Case, F, Func, IntegerField, JSONField, TextField, Value, When
from django.db.models.functions import Cast, Length
from django.db.models.lookups import GreaterThan

MAX_LISTED = 8192  # characters of a document's JSON


class JSONArrayLength(Func):
    """How many members an array has, without reading them."""

    function = "json_array_length"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="jsonb_array_length", **context)


def listed_annotations(*names: str) -> dict[str, Any]:
    """For a query that defers these JSON columns: what a list shows of each, and whether that is nothing."""
    annotations: dict[str, Any] = {}
    for name in names:
        too_long = GreaterThan(Length(Cast(name, TextField())), MAX_LISTED)
        whole_if_short = Case(When(too_long, then=Value(None)), default=F(name), output_field=JSONField())
        annotations[f"listed_{name}"] = whole_if_short
        annotations[f"omits_{name}"] = Case(When(too_long, then=True), default=False, output_field=BooleanField())
    return annotations


class Listed:
    """A model whose rows may have been read for a list."""

    LONG: tuple[str, ...] = ()  # columns that may be

    def listed(self, name: str) -> Any:
        """A document; None where it was left in the database."""
        known = vars(self)
        return known[name] if name in known else known.get(f"listed_{name}")

    @property
    def omitted(self) -> list[str]:
        """The names of documents that were left in the database."""
        known = vars(self)
        return [name for name in self.LONG if name not in known and known.get(f"omits_{name}")]
