"""Which part of the due index a job is in, and what the parts are called in Redis. Pure.

A slot is a whole index of its own for its share of the jobs. Its keys have a hash tag of their own, so that a Redis
Cluster keeps them together on one node and spreads the slots over all of them, and no command ever names two slots.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple, TypeVar
from uuid import UUID
from zlib import crc32

T = TypeVar("T")


class Slot(NamedTuple):
    """The keys of one slot."""

    due: str
    leased: str
    marker: str  # there while the slot is complete

    @property
    def sets(self) -> tuple[str, str]:
        return self.due, self.leased


def named_slots(count: int, prefix: str) -> list[Slot]:
    """The slots of an index that has so many.

    Their number is part of every name: one index must not be taken for another that puts jobs elsewhere. A single slot
    has the name that the index had before there were slots.
    """
    tags = ["punctual"] if count == 1 else [f"punctual:{place}/{count}" for place in range(count)]
    return [Slot(*(f"{prefix}{{{tag}}}:{key}" for key in ("due", "leased", "complete"))) for tag in tags]


def slot_of(job: UUID, count: int) -> int:
    """The place of the slot that a job is in: the same for whoever asks, and as likely as any other."""
    return crc32(job.bytes) % count if count > 1 else 0


def by_slot(entries: Iterable[tuple[UUID, T]], count: int) -> dict[int, list[tuple[UUID, T]]]:
    """Jobs, each with whatever is said of it, by the place of their slot."""
    if count == 1:
        return {0: list(entries)}
    shares: dict[int, list[tuple[UUID, T]]] = defaultdict(list)
    for job, said in entries:
        shares[slot_of(job, count)].append((job, said))
    return shares
