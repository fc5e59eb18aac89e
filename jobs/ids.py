"""Identifiers that sort by time. Pure.

An execution's id is derived from what makes it unique, so recording a due time twice is a
primary-key conflict instead of a second run, whoever tries.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from uuid import UUID, SafeUUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MILLISECOND = timedelta(milliseconds=1)  # what ids know of time
LAST_MILLISECOND = (1 << 48) - 1  # that an id can carry: in the year 10889
REST = ~(0xF << 76 | 0x3 << 62) & (1 << 80) - 1  # the 80 bits below the time, less those that say what kind it is
RANDOM, DERIVED = (version << 76 | 0x2 << 62 for version in (7, 8))  # what kinds there are
_make, _UNKNOWN = UUID.__new__, SafeUUID.unknown
_set_int, _set_safe = (vars(UUID)[name].__set__ for name in ("int", "is_safe"))
_hashing = blake2b(digest_size=10)  # to begin with: a copy costs less than another one


def uuid_of(number: int) -> UUID:
    """`UUID(int=number)` in a third of the time: of a number that is known to have 128 bits, nothing need be asked.

    An execution's id is made anew at every step of its way, and some steps do little else.
    """
    made = _make(UUID)
    _set_int(made, number)
    _set_safe(made, _UNKNOWN)
    return made


def new_job_id(now: datetime | None = None) -> UUID:
    """A random id (UUIDv7): jobs listed by id are listed by creation, at `now` or by this machine's clock."""
    milliseconds = time.time_ns() // 1_000_000 if now is None else (now - EPOCH) // MILLISECOND
    return uuid_of((milliseconds & LAST_MILLISECOND) << 80 | int.from_bytes(os.urandom(10), "big") & REST | RANDOM)


def execution_id(job_id: UUID, due_at: datetime, cause: str) -> UUID:
    """The one id (UUIDv8) of the execution that `cause` makes of this job for this due time.

    A hash tells the microseconds and the job apart, the cause tells a run asked for by hand
    from a scheduled one that happens to be due at the same instant.
    """
    if due_at.tzinfo is not UTC:  # in a zone, two instants of a repeated hour are equal
        due_at = due_at.astimezone(UTC)
    first, rest = _shared_part(due_at, cause)
    identity = _hashing.copy()
    identity.update(job_id.int.to_bytes(16, "big") + rest)
    return uuid_of(first | int.from_bytes(identity.digest(), "big") & REST)


@lru_cache(maxsize=1000)
def _shared_part(due_at: datetime, cause: str) -> tuple[int, bytes]:
    """What ids of one due time and cause begin with, and what is hashed after the job: many share both."""
    microseconds = (due_at - EPOCH) // MICROSECOND
    first = (microseconds // 1000 & LAST_MILLISECOND) << 80 | DERIVED
    return first, microseconds.to_bytes(8, "big", signed=True) + cause.encode()


def lowest_id(instant: datetime) -> UUID:
    """The id before which all of earlier milliseconds sort: where the executions due at `instant` or later begin."""
    milliseconds = (instant - EPOCH) // MILLISECOND
    return UUID(int=min(max(milliseconds, 0), LAST_MILLISECOND) << 80)


def highest_id(instant: datetime) -> UUID:
    """The id after which all of later milliseconds sort."""
    return UUID(int=lowest_id(instant).int | (1 << 80) - 1)


def time_of(identifier: UUID) -> datetime:
    """The instant, to the millisecond, that a job's or an execution's id carries."""
    return EPOCH + timedelta(milliseconds=identifier.int >> 80)
