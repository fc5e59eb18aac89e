"""Runs handlers on threads of this process, and stops those that take too long.

It cannot stop what sits in C code: it says that an attempt is stuck, and whoever owns the process
decides.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from threading import Event, Thread

import structlog
from django.db import connections

from execution.pool import DaemonPool
from execution.registry import Run, Wish
from execution.retry import Cancelled, Interrupted, TimeLimitExceeded
from execution.runner import Runner
from execution.workshop.base import Report, Workshop
from execution.workshop.interruptible import Interruptible
from jobs.ledger import Claim

logger = structlog.get_logger(__name__)

LOOK = 0.1  # seconds between looks at the clock
AGAIN = 1.0  # seconds between interruptions: time for a handler's `finally`


@dataclass(slots=True)
class Place:
    """One attempt that runs, or waits for a thread. Times are of the monotonic clock."""

    claim: Claim
    time_limit: float
    call: Interruptible = field(default_factory=Interruptible)
    wish: Wish = field(default_factory=Wish)
    ends_at: float = float("inf")  # when it is interrupted
    why: type[Interrupted] = TimeLimitExceeded
    interrupted_at: float | None = None
    again_at: float = 0.0
    reported_stuck: bool = False


@dataclass(slots=True, eq=False)
class Bundle:
    """Attempts that one thread makes one after another."""

    waiting: deque[Place]
    since: float = 0.0  # when the one being made was begun

    def next(self) -> Place | None:
        self.since = time.monotonic()
        return next(self.rest(), None)

    def rest(self) -> Iterator[Place]:
        """Those not begun yet; whoever is given one has to see to it. Several threads may ask."""
        with suppress(IndexError):
            while True:
                yield self.waiting.popleft()


class ThreadWorkshop(Workshop):
    """`end_grace` is what a handler gets to end tidily once told to, and again once interrupted."""

    def __init__(
        self,
        runner: Runner,
        threads: int,
        *,
        end_grace: timedelta,
        on_stuck: Callable[[Claim, type[Interrupted]], None] = lambda claim, why: None,
    ) -> None:
        self.runner = runner
        self.threads = threads
        self.end_grace = end_grace.total_seconds()
        self.on_stuck = on_stuck
        # Changed by many threads, one step at a time, without a lock: each change is a single step of the interpreter,
        # and threads that wait for each other's locks would take longer than most handlers.
        self._places: dict[Claim, Place] = {}
        self._bundles: dict[Bundle, None] = {}  # those being worked through
        self._closed = Event()

    def start(self, report: Report) -> None:
        self._report = report
        self._pool = DaemonPool(self.threads)
        Thread(target=self._watch, name="warden", daemon=True).start()

    def submit(self, bundles: Sequence[Sequence[Claim]]) -> None:
        for claims in bundles:
            places = [Place(claim, self._time_limit(claim)) for claim in claims]
            self._places.update([(place.claim, place) for place in places])
            self._pool.submit(partial(self._work_through, Bundle(deque(places))))

    def interrupt(self, claims: Collection[Claim], why: type[Interrupted]) -> None:
        now = time.monotonic()
        for claim in claims:
            if (place := self._places.get(claim)) is not None:
                place.wish.to_end = True
                soon = now + self.end_grace if why is Cancelled else now
                if soon < place.ends_at:
                    place.why, place.ends_at = why, soon

    def close(self) -> None:
        self._closed.set()
        self._pool.close()

    def _time_limit(self, claim: Claim) -> float:
        limit = self.runner.limits_of(claim).time_limit
        return limit.total_seconds() if limit else float("inf")

    def _work_through(self, bundle: Bundle) -> None:
        self._bundles[bundle] = None
        try:
            while (place := bundle.next()) is not None:
                self._work(place)
        finally:
            del self._bundles[bundle]
            # Handlers may have used the database; a thread that waits must not keep a connection.
            with suppress(Exception):
                connections.close_all()

    def _work(self, place: Place) -> None:
        claim = place.claim
        try:
            place.ends_at = min(place.ends_at, time.monotonic() + place.time_limit)
            run = Run(claim.execution_id, claim.attempt, claim.tenant_id, _wish=place.wish)
            outcome = self._guarded(place, run)
            self._report([(claim, outcome)])
        except BaseException:
            logger.exception("workshop.no_outcome", execution=str(claim.id))
            self._report([(claim, self.runner.given_back(claim))])
        finally:
            self._places.pop(claim, None)

    def _guarded(self, place: Place, run: Run):
        try:
            return place.call.call(lambda: self.runner.run(place.claim, run))
        except Interrupted as error:  # it came while the outcome was being made
            return self.runner.failed(place.claim, error)

    def _watch(self) -> None:
        while not self._closed.wait(LOOK):
            now = time.monotonic()
            late = [place for place in list(self._places.values()) if now >= place.ends_at]
            held_up = [bundle for bundle in list(self._bundles) if now >= bundle.since + LOOK]
            for place in late:
                self._stop(place, now)
            # Whoever is slower than expected must not keep those behind it from the other threads.
            for bundle in held_up:
                for place in bundle.rest():
                    self._pool.submit(partial(self._work_through, Bundle(deque([place]))))

    def _stop(self, place: Place, now: float) -> None:
        """Interrupt it, again and again if it goes on: a handler may catch everything."""
        if place.interrupted_at is None:
            place.interrupted_at = now
            place.wish.to_end = True
            logger.warning("execution.interrupted", execution=str(place.claim.id), reason=place.why.__name__)
        elif now - place.interrupted_at >= self.end_grace and not place.reported_stuck:
            place.reported_stuck = True
            self.on_stuck(place.claim, place.why)
        if now >= place.again_at:
            place.again_at = now + AGAIN
            place.call.interrupt(place.why)
