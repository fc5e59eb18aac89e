"""Spare threads: what keeps one tenant's long executions from delaying every other tenant.

An executor runs executions in the order in which they arrive, regardless of the tenant, while it has a free thread.
Once all are busy, a few spare threads start executions of tenants that hold less than an equal share of the threads.
So a tenant never holds more than the ordinary threads, and executions of others do not wait for its executions to end.

What a full executor takes from the queue and may not start is postponed: it returns to the queue a moment later,
unclaimed, and no attempt is counted. The executor has it return at once when threads are free and the queue is empty.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from accounts.models import Tenant
from accounts.teams import has_several_owners

SOONEST = timedelta(seconds=1)  # until a postponed execution returns
LATEST = timedelta(seconds=60)
SPACING = timedelta(milliseconds=10)  # between two returns of a tenant: a backlog must not keep the recoverer busy
TENANTS_KNOWN_FOR = 5.0  # seconds
MAX_REMEMBERED = 10_000  # postponed executions; those before return at their times

Offered = tuple[UUID, UUID]  # an execution and its tenant
Postponed = tuple[UUID, datetime]  # an execution and the time at which it returns
NO_OWNERS: Mapping[UUID, int] = {}


class SpareThreads:
    """Decides who may use an executor's `spare` threads, and when the others return."""

    def __init__(self, threads: int, spare: int) -> None:
        self.spare = spare
        self._threads = threads
        self._returns = Returns()
        self._postponed: deque[Postponed] = deque(maxlen=MAX_REMEMBERED)
        self._several_tenants = self._several_owners = False
        self._ask_at = 0.0

    def are_needed(self) -> bool:
        """Whether there is another tenant to protect: alone, a tenant would only see its order change."""
        if self.spare and time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + TENANTS_KNOWN_FOR
            self._several_tenants = len(Tenant.objects.order_by()[:2].values_list("pk")) > 1
            self._several_owners = self._several_tenants and has_several_owners()
        return self._several_tenants

    def full(self, held: Counter[UUID]) -> list[UUID]:
        """The tenants that hold their equal share already: none of theirs is started, however many wait."""
        return [tenant for tenant, count in held.items() if count >= share(self._threads, self.spare, len(held))]

    def choose(
        self,
        offered: Sequence[Offered],
        held: Counter[UUID],
        *,
        room: int,
        owner_of: Mapping[UUID, int] = NO_OWNERS,
    ) -> tuple[list[UUID], list[UUID]]:
        """Return the executions to start, and the others."""
        owner_of = owner_of if self._several_owners else NO_OWNERS  # one owner of all tenants keeps nobody out
        return choose(offered, held, room=room, threads=self._threads, spare=self.spare, owner_of=owner_of)

    def divide(
        self,
        offered: Sequence[Offered],
        held: Counter[UUID],
        *,
        room: int,
        now: datetime,
        owner_of: Mapping[UUID, int] = NO_OWNERS,
    ) -> tuple[list[UUID], list[Postponed]]:
        """Return the executions to start, and the others with the time at which each returns."""
        chosen, others = self.choose(offered, held, room=room, owner_of=owner_of)
        tenant_of = dict(offered)
        postponed = list(zip(others, self._returns.take([tenant_of[one] for one in others], now), strict=True))
        self._postponed += postponed
        return chosen, postponed

    def recall(self, count: int) -> list[Postponed]:
        """Return, and forget, up to `count` of the postponed executions, the first postponed ones first."""
        recalled = [self._postponed.popleft() for _ in range(min(count, len(self._postponed)))]
        if not self._postponed:
            self._returns = Returns()  # no backlog is ahead of what is postponed next
        return recalled


def choose(
    offered: Sequence[Offered],
    held: Counter[UUID],
    *,
    room: int,
    threads: int,
    spare: int,
    owner_of: Mapping[UUID, int] = NO_OWNERS,
) -> tuple[list[UUID], list[UUID]]:
    """Choose at most `room` executions of tenants that hold less than an equal share of the threads.

    Return them and the others. `held` counts what each tenant has running. The last free thread is not for a tenant
    whose owner holds threads by way of another tenant: one user with many tenants must not hold all threads. Pure.
    """
    held = Counter(held)
    chosen: list[UUID] = []
    others: list[UUID] = []
    for execution, tenant in offered:
        equal_share = share(threads, spare, len(held.keys() | {tenant}))
        free = room - len(chosen)
        reserved = free == 1 and any(
            owner_of.get(other) == owner_of[tenant] for other in held if other != tenant and tenant in owner_of
        )
        if free > 0 and not reserved and held[tenant] < equal_share:
            held[tenant] += 1
            chosen.append(execution)
        else:
            others.append(execution)
    return chosen, others


def share(threads: int, spare: int, tenants: int) -> int:
    """The most threads that each of `tenants` tenants may hold while the executor is full."""
    return min(threads, max(1, (threads + spare) // tenants))


class Returns:
    """Gives out the times at which postponed executions return: of each tenant one every `SPACING`.

    Each tenant has a line of its own: behind the backlog of another, an execution would wait for longer than for a
    thread.
    """

    def __init__(self) -> None:
        self._last: dict[UUID, datetime] = {}

    def take(self, tenants: Sequence[UUID], now: datetime) -> list[datetime]:
        """A time for each of these executions, of which the tenants are given."""
        soonest = now + SOONEST
        self._last = {tenant: last for tenant, last in self._last.items() if last > now}
        times = []
        for tenant in tenants:
            last = self._last.get(tenant)
            place = soonest if last is None else max(soonest, last + SPACING)
            # A clock that was put back, or a very long backlog: nobody waits longer than this for the next look.
            self._last[tenant] = min(place, now + LATEST)
            times.append(self._last[tenant])
        return times
