"""Arrays as PostgreSQL itself keeps them: the columns of a batch, sent without a detour over text.

To spell an id or an instant, and to read that again, costs both sides more than most else that they do for a row. A
parameter of this kind says nothing of its type: the statement does, by a cast.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import is_
from struct import Struct
from typing import Any, NamedTuple

import psycopg
from django.db import DataError
from psycopg.adapt import Dumper
from psycopg.pq import Format

FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)  # from which PostgreSQL counts
MICROSECOND = timedelta(microseconds=1)
# Dimensions, whether there may be nulls, the type of the values, how many there are, and the number of the first.
HEADER = Struct("!iiIii")
LENGTH = Struct("!i")
NULL = LENGTH.pack(-1)


class Array(bytes):
    """One value of PostgreSQL's, in its own words."""


class ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> Array:
        return obj


class ArrayCursor(psycopg.Cursor):
    """Takes arrays, and is answered in PostgreSQL's own words too.

    A document is read, as psycopg does it: who wants its text asks for that, by a cast.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__(connection)
        self.format = Format.BINARY
        self.adapters.register_dumper(Array, ArrayDumper)


class Kind(NamedTuple):
    """A type of PostgreSQL's: its number there, how a value of it is written, and its length if all have one."""

    oid: int
    written: Callable[[Any], bytes]
    length: int | None = None


def _document(text: str) -> bytes:
    return b"\x01" + text.encode()  # the version of this way to write one


_long = Struct("!q").pack

KINDS = {
    "uuid": Kind(2950, lambda value: value.int.to_bytes(16, "big"), 16),
    "timestamptz": Kind(1184, lambda value: _long((value - FIRST_DAY) // MICROSECOND), 8),
    "integer": Kind(23, Struct("!i").pack, 4),
    "smallint": Kind(21, Struct("!h").pack, 2),
    "double precision": Kind(701, Struct("!d").pack, 8),
    "boolean": Kind(16, Struct("!?").pack, 1),
    "text": Kind(25, str.encode),
    "jsonb": Kind(3802, _document),
}


def array(kind: str, values: Sequence[Any]) -> Array | list[Any]:
    """The values as one array of this kind; of one that is not known here, as what psycopg makes of them."""
    known = KINDS.get(kind)
    if known is None:
        return list(values)
    try:
        if values and known.length is not None and not any(map(_is_null, values)):
            before_each = LENGTH.pack(known.length)
            nulls, items = False, before_each + before_each.join(map(known.written, values))
        else:
            nulls, items = True, b"".join(map(partial(_item, known.written), values))
    except struct.error as fault:
        raise DataError(f"A value cannot be stored as {kind}: {fault}.") from fault
    return Array(HEADER.pack(1, nulls, known.oid, len(values), 1) + items)


_is_null = partial(is_, None)


def _item(written: Callable[[Any], bytes], value: Any) -> bytes:
    if value is None:
        return NULL
    item = written(value)
    return LENGTH.pack(len(item)) + item
