"""The port: token buckets, each known by the moment when it is full again.

From that one number follows what is in a bucket at any instant. To take from it is to move the moment on by what one
token takes to come back, unless that would be further off than an empty bucket takes to fill. So a draw is one
comparison and one addition, which a database or a script does in one step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

MICROSECOND = timedelta(microseconds=1)


class BucketsUnavailable(Exception):
    """The server that keeps the buckets does not answer."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """`limit` at once, and as many again in each `period`, evenly. A draw takes `cost`, or all there ever is."""

    name: str
    limit: int  # at least one
    period: timedelta
    cost: int = 1

    @property
    def step(self) -> int:
        """Microseconds for one to come back."""
        return max(1, self.period // MICROSECOND // self.limit)

    @property
    def taken(self) -> int:
        """Microseconds for what a draw takes to come back."""
        return self.step * min(self.cost, self.limit)

    @property
    def span(self) -> int:
        """Microseconds for an empty bucket to be full."""
        return self.step * self.limit


@dataclass(frozen=True, slots=True)
class Draw:
    """What became of a wish for tokens, and what is left."""

    allowance: Allowance
    admitted: bool
    full_in: int  # microseconds

    @property
    def remaining(self) -> int:
        return max(0, (self.allowance.span - self.full_in) // self.allowance.step)

    @property
    def full_in_seconds(self) -> int:
        return max(0, ceil(self.full_in / 1_000_000))

    @property
    def retry_after(self) -> int:
        """Seconds until there is one again: at least one second, since nobody counts in less."""
        return max(1, ceil((self.full_in + self.allowance.taken - self.allowance.span) / 1_000_000))


class Buckets(ABC):
    """Which allowances are used up. Exact, however many take at once; losing one fills it and costs nothing else."""

    @abstractmethod
    def take(self, allowances: Sequence[Allowance]) -> list[Draw]:
        """Take one from each, in their order, up to and including the first that is empty.

        What comes after an empty one is left alone, so the narrowest belongs first: whoever has used up their own
        takes nothing from what they share. Costs one round trip. Raises BucketsUnavailable.
        """
