"""Keeps an executor's leases alive, all of them in one query, for as long as the process lives.

The same query tells what is no longer ours, and what a person wants to end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from threading import Event, Thread

import structlog
from django.db import connections

from jobs import ledger
from jobs.clock import Clock
from jobs.ledger import Claim

logger = structlog.get_logger(__name__)

BEATS_A_LEASE = 3  # so that one lost beat is no lost lease
LONGEST_PAUSE = 0.8  # seconds: a cancellation is heard at the next beat, or of what was just claimed, at the one after
JUST_CLAIMED = 0.25  # of a pause: until then nothing is said of it, as nearly all are over by then

Leases = Collection[tuple[Claim, timedelta]]


class Heart:
    def __init__(
        self,
        held: Callable[[], Leases],
        *,
        clock: Clock,
        lost: Callable[[list[Claim]], None],
        cancelled: Callable[[list[Claim]], None],
    ) -> None:
        self.held = held
        self.clock = clock
        self.lost = lost
        self.cancelled = cancelled
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="heart", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def beat(self, leases: Leases) -> None:
        """Extend these leases, and tell which are no longer ours and which are to be cancelled."""
        if not leases:
            return
        now = self.clock.now()
        kept = ledger.heartbeat([(*claim.key, now + lease) for claim, lease in leases])
        self.lost([claim for claim, _ in leases if claim.key not in kept])
        self.cancelled([claim for claim, _ in leases if kept.get(claim.key)])

    def _run(self) -> None:
        while not self._stopped.wait(pause := self._pause()):
            try:
                leases, now, moment = self.held(), self.clock.now(), timedelta(seconds=JUST_CLAIMED * pause)
                self.beat([one for one in leases if not _was_claimed_within(moment, one[0], now)])
            except Exception as error:
                logger.warning("heart.beat_failed", error=str(error), remedy="tried again at the next beat")
                connections.close_all()
        connections.close_all()

    def _pause(self) -> float:
        shortest = min((lease.total_seconds() for _, lease in self.held()), default=LONGEST_PAUSE)
        return min(LONGEST_PAUSE, shortest / BEATS_A_LEASE)


def _was_claimed_within(moment: timedelta, claim: Claim, now: datetime) -> bool:
    """Whether it is that new. One that is still to come is not: the clock was put back, perhaps by hours."""
    began = claim.started_at
    return began is not None and timedelta() <= now - began < moment
