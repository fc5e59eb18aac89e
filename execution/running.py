"""The claims whose handlers are not done yet, and how many threads they keep busy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from uuid import UUID

from execution.broker.base import Bundle
from jobs.ledger import Claim

payload_of = attrgetter("payload")


class Held:
    """The claims whose outcomes are not written yet, and how many characters their payloads have.

    Not safe to share between threads, like `Running`.
    """

    def __init__(self) -> None:
        self._claims: set[Claim] = set()
        self.characters = 0

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)

    def add(self, claims: Collection[Claim]) -> None:
        """Note claims that were just made."""
        self._claims.update(claims)
        self.characters += sum(lengths(claims))

    def remove(self, claims: Iterable[Claim]) -> None:
        removed = self._claims.intersection(claims)
        self._claims -= removed
        self.characters -= sum(lengths(removed))


def lengths(claims: Iterable[Claim]) -> Iterator[int]:
    """Of their payloads, in characters."""
    return map(len, map(payload_of, claims))  # no step of it in Python: every execution passes here


class Running:
    """Not safe to share between threads: whoever uses it holds a lock."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._claims: set[Claim] = set()
        self._by_task: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims)

    @property
    def threads(self) -> int:
        """Those that are busy: a bundle of fast ones shares one, and it may be over before the next is claimed."""
        return sum(-(-count // self._bundle(task)) for task, count in self._by_task.items())

    def by_tenant(self) -> Counter[UUID]:
        """How many each tenant has."""
        return Counter(claim.tenant_id for claim in self._claims)

    def add(self, claims: Collection[Claim]) -> None:
        self._claims.update(claims)
        self._by_task.update([claim.task for claim in claims])

    def remove(self, claims: Iterable[Claim]) -> list[Claim]:
        """Forget these; return those that were running."""
        ours = [claim for claim in claims if claim in self._claims]
        self._claims.difference_update(ours)
        self._by_task.subtract(Counter([claim.task for claim in ours]))
        return ours
