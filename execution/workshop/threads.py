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

from execution.hiding import scrubber_of
from execution.pool import DaemonPool
from execution.retry import Cancelled, Interrupted, TimeLimitExceeded
from execution.run import Run, Seat
from execution.runner import Runner
from execution.voice import Bounds, Voice
from execution.workshop.base import Hear, Report, Workshop
from execution.workshop.batches import work_together
from execution.workshop.interruptible import Interruptible
from jobs.ledger import Claim, Outcome

logger = structlog.get_logger(__name__)

LOOK = 0.1  # seconds between looks at the clock
AGAIN = 1.0  # seconds between interruptions: time for a handler's `finally`


@dataclass(slots=True, eq=False)
class Place(Seat):
    """One attempt that runs, or waits for a thread. Times are of the monotonic clock."""

    claim: Claim
    workshop: ThreadWorkshop
    time_limit: float
    call: Interruptible = field(init=False, default_factory=Interruptible)
    begun: bool = field(init=False, default=False)
    why: type[Interrupted] = field(init=False, default=TimeLimitExceeded)
    interrupted_at: float | None = field(init=False, default=None)
    again_at: float = field(init=False, default=0.0)
    reported_stuck: bool = field(init=False, default=False)

    def is_last(self) -> bool:
        return self.workshop.runner.is_last(self.claim)

    def speak(self) -> Voice:
        self.voice = self.workshop.voice_of(self.claim)
        return self.voice


@dataclass(slots=True, eq=False)
class Bundle:
    """Attempts that one thread makes one after another."""

    waiting: deque[Place]
    since: float = 0.0  # when the one being made was begun

    def next(self) -> Place | None:
        self.since = time.monotonic()
        try:
            return self.waiting.popleft()
        except IndexError:
            return None

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
        bounds: Bounds,
        on_stuck: Callable[[Claim, type[Interrupted]], None] = lambda claim, why: None,
        on_broken: Callable[[], None] = lambda: None,
    ) -> None:
        self.runner = runner
        self.threads = threads
        self.end_grace = end_grace.total_seconds()
        self.bounds = bounds  # of what an attempt may say
        self.on_stuck = on_stuck
        self.on_broken = on_broken  # called when what is left cannot do the work any more
        # Changed by many threads, one step at a time, without a lock: each change is a single step of the interpreter,
        # and threads that wait for each other's locks would take longer than most handlers.
        self._places: dict[Claim, Place] = {}
        self._bundles: dict[Bundle, None] = {}  # those being worked through
        self._closed = Event()

    def start(self, report: Report, hear: Hear) -> None:
        self._report = report
        self._hear = hear
        self._pool = DaemonPool(self.threads, self.on_broken)
        Thread(target=self._watch, name="warden", daemon=True).start()

    def submit(self, bundles: Sequence[Sequence[Claim]]) -> None:
        for claims in bundles:
            limits = {id(claim.limits): claim for claim in claims}  # one task's, of which most say the same
            seconds = {number: self._time_limit(claim) for number, claim in limits.items()}
            places = [Place(claim, self, seconds[id(claim.limits)]) for claim in claims]
            self._places.update([(place.claim, place) for place in places])
            if claims and self.runner.takes_batches(claims[0]):
                self._pool.submit(partial(self._work_together, places))
            else:
                self._pool.submit(partial(self._work_through, Bundle(deque(places))))

    def interrupt(self, claims: Collection[Claim], why: type[Interrupted]) -> None:
        now = time.monotonic()
        for claim in claims:
            if (place := self._places.get(claim)) is not None:
                place.to_end = True
                soon = now + self.end_grace if why is Cancelled else now
                if soon < place.ends_at:
                    place.why, place.ends_at = why, soon

    def voice_of(self, claim: Claim) -> Voice:
        scrubber = scrubber_of(claim)
        clean = str if scrubber is None else scrubber.clean
        return Voice(partial(self._hear, claim), self.runner.clock.now, self.bounds, clean)

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

    def _work_together(self, places: Sequence[Place]) -> None:
        try:
            work_together(self, places)
        finally:
            with suppress(Exception):
                connections.close_all()

    def _work(self, place: Place) -> None:
        claim = place.claim
        run = Run(claim.execution_id, claim.attempt, claim.tenant_id, place)
        self.conclude(place, partial(self.runner.run, claim, run))

    def begin(self, place: Place) -> None:
        """Its time runs from now on, and so does what it has to end in if it is not wanted any more."""
        now = time.monotonic()
        if place.interrupted_at is not None:
            place.interrupted_at = now
        place.begun = True
        if (ends_at := now + place.time_limit) < place.ends_at:
            place.ends_at = ends_at

    def conclude(self, place: Place, work: Callable[[], Outcome]) -> None:
        """Do the work, which can be interrupted meanwhile, and report what became of it."""
        claim = place.claim
        try:
            self.begin(place)
            try:
                outcome = place.call.call(work)
            except Interrupted as error:  # it came while the outcome was being made
                outcome = self.runner.failed(claim, error)
            if place.voice is not None:
                place.voice.finish()  # what was said is known before how it ended
            self._report([(claim, outcome)])
        except BaseException as error:
            self._without_outcome(claim, error)
        finally:
            self._places.pop(claim, None)

    def _without_outcome(self, claim: Claim, error: BaseException) -> None:
        """Report something of an attempt nevertheless: otherwise it would be waited for without end."""
        try:
            no_memory = isinstance(error, MemoryError)
            self._report(
                [(claim, self.runner.out_of_memory(claim, error) if no_memory else self.runner.given_back(claim))]
            )
            logger.error("workshop.no_outcome", execution=str(claim.id), exc_info=error)
        except BaseException:
            self.on_broken()
            raise

    def _watch(self) -> None:
        try:
            self._watch_places()
        except BaseException:
            self.on_broken()
            raise

    def _watch_places(self) -> None:
        while not self._closed.wait(LOOK):
            now = time.monotonic()
            places = list(self._places.values())
            late = [place for place in places if now >= place.ends_at]
            for place in places:
                if place.voice is not None:
                    place.voice.catch_up()
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
            place.to_end = True
            logger.warning("execution.interrupted", execution=str(place.claim.id), reason=place.why.__name__)
        elif place.begun and now - place.interrupted_at >= self.end_grace and not place.reported_stuck:
            place.reported_stuck = True
            self.on_stuck(place.claim, place.why)
        if now >= place.again_at:
            place.again_at = now + AGAIN
            place.call.interrupt(place.why)
