"""Keeps work away from a destination that is down, until it answers again.

A destination is whoever a handler talks to: a mail server, the origin of a URL, or all that a task needs. A few
failures in a row, and work for it waits: uncounted, so that an outage costs no retries. One probe at a time finds out
whether it answers; then what waited is let go at a growing pace.

What is known is in the database, for all executors alike. Only those in trouble are there: for a destination that is
well nothing is written, and all that a process does is to look at most once a second who is not.
"""

from __future__ import annotations

import smtplib
import socket
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, transaction

from execution.models import Destination, Meeting
from execution.release import Release
from execution.retry import DestinationDown
from jobs.clock import Clock

logger = structlog.get_logger(__name__)

LOOK_AGAIN = 1.0  # seconds: how long the others need to hear of an outage
DOWN_AGAIN = 2  # failures in a row while it recovers
PROBE_LEASE = timedelta(seconds=60)  # without news of a probe for this long, another one goes
PLACES = 10  # taken at once, for all of this process that wait
LONGEST_NAME = 300  # characters


@dataclass(frozen=True, slots=True)
class Rules:
    failures: int  # in a row, and it is down
    pause: timedelta  # before the first probe; twice as long before each further one
    longest_pause: timedelta
    patience: timedelta  # down for longer, waiting counts as failing: nothing waits for ever
    release: Release


class MustWait(Exception):
    """The work has to wait, mostly because its destination is down: come back at `at`.

    Where a probe found that out, `found` is what it says.
    """

    def __init__(self, reason: str, at: datetime, found: Exception | None = None) -> None:
        super().__init__(reason)
        self.at = at
        self.found = found


class Destinations:
    """What this process knows of destinations in trouble. Safe to share between threads.

    Without the database nothing is known, and all work goes on as if all were well.
    """

    def __init__(self, clock: Clock, rules: Rules) -> None:
        self.clock = clock
        self.rules = rules
        self._known: dict[str, Destination] = {}
        self._look_at = 0.0
        self._failed: set[str] = set()  # whose latest outcome here was a failure
        self._places: dict[str, list[datetime]] = {}  # taken, and not given to anybody yet; the next one last
        self._met: set[tuple[str, UUID]] = set()
        self._lock = Lock()

    def admit(self, name: str, tenant: UUID) -> None:
        """Return if work for `name` may go on. Otherwise raise MustWait, or DestinationDown when it waits too long."""
        name = name[:LONGEST_NAME]
        self._look()
        known = self._known.get(name)
        if known is None or known.state == Destination.State.TROUBLED:
            return
        try:
            wait = self._wait(name, known, tenant)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("destination.not_asked", destination=name, error=str(error))
            return
        if wait is not None:
            raise wait

    def judged(self, name: str, tenant: UUID, work: Callable[[], Any]) -> Any:
        """Do work for `name` that was admitted, and learn from what comes of it. Raises MustWait if it found an outage.

        What it returns may also be an exception: then that has come of it.
        """
        try:
            answer = work()
            if isinstance(answer, Exception):
                raise answer
        except MustWait:
            raise  # the work was not done, so nothing was learned of the destination
        except Exception as error:
            if not tells_of_outage(error):
                self.answered(name)  # whatever it said, it is there
            elif back_at := self.failed(name, error, tenant):
                raise MustWait(str(error), back_at, error) from error
            raise
        self.answered(name)
        return answer

    def is_down(self, name: str) -> bool:
        """Whether this process knows that nobody is there."""
        known = self._known.get(name[:LONGEST_NAME])
        return known is not None and known.is_down

    def answered(self, name: str) -> None:
        """Note that work for `name` went well."""
        name = name[:LONGEST_NAME]
        self._failed.discard(name)
        known = self._known.get(name)
        if known is None or (known.state == Destination.State.RECOVERING and not known.failures):
            return
        try:
            with self._locked(name) as row:
                if row is None:
                    return
                if row.state == Destination.State.TROUBLED:
                    row.delete()
                    self._forget(name)
                    return
                if row.is_down:
                    logger.info("destination.answers_again", destination=name, down_since=row.since.isoformat())
                    self._places.pop(name, None)
                row.answer(self.clock.now())
                self._keep(row)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("destination.not_noted", destination=name, error=str(error))

    def failed(self, name: str, error: Exception, tenant: UUID) -> datetime | None:
        """Note that work for `name` failed for an outage. When it is down with that: when to come back, uncounted."""
        name = name[:LONGEST_NAME]
        anew = name not in self._failed
        self._failed.add(name)
        try:
            return self._fail(name, error, tenant, anew=anew)
        except (DatabaseError, InterfaceError) as database_error:
            logger.warning("destination.not_noted", destination=name, error=str(database_error))
            return None

    def _fail(self, name: str, error: Exception, tenant: UUID, *, anew: bool) -> datetime | None:
        now = self.clock.now()
        Destination.objects.bulk_create(
            [Destination(name=name, since=now, probe_at=now, touched_at=now)], ignore_conflicts=True
        )
        with self._locked(name) as row:
            if row is None:
                return None
            was_down = row.is_down
            row.fail(
                now,
                type(error).__name__[:100],
                anew=anew,
                limit=DOWN_AGAIN if row.state == Destination.State.RECOVERING else self.rules.failures,
                pause=self.rules.pause,
                longest=self.rules.longest_pause,
            )
            self._places.pop(name, None)
            self._keep(row)
            self._meet(name, tenant)
            if not row.is_down or self._waits_too_long(row, now):
                return None
            back_at = row.back_at(row.take_places(1), now, self.rules.release)
            row.save(update_fields=["places"])
        if not was_down:
            logger.warning("destination.down", destination=name, failures=row.failures, error=str(error)[:200])
        return back_at

    def _wait(self, name: str, known: Destination, tenant: UUID) -> MustWait | DestinationDown | None:
        """Why work for a destination that is known to be down or to recover cannot go on; None if it can."""
        now = self.clock.now()
        with self._lock:
            kept = self._places.get(name)
            # While no probe is due, all that has to be decided is when to come back; mostly that is decided already.
            if known.is_down and now < known.probe_at and kept and not self._waits_too_long(known, now):
                return self._told(known, kept.pop())
        with self._locked(name) as row:
            if row is None:
                self._forget(name)
                return None
            if row.has_recovered(now, self.rules.release):
                logger.info("destination.recovered", destination=name, released=row.released)
                row.delete()
                self._forget(name)
                return None
            if row.begin_probe(now, PROBE_LEASE) if row.is_down else row.let_go(now, self.rules.release):
                self._keep(row)
                return None
            self._meet(name, tenant)
            if row.is_down and self._waits_too_long(row, now):
                return DestinationDown(f"{self._story(row)}. That is longer than work waits for it.")
            first = row.take_places(PLACES)
            times = [row.back_at(first + number, now, self.rules.release) for number in range(PLACES)]
            self._keep(row)
        with self._lock:
            self._places[name] = times[:0:-1]
        return self._told(row, times[0])

    def _waits_too_long(self, row: Destination, now: datetime) -> bool:
        return now - row.since > self.rules.patience

    def _told(self, row: Destination, at: datetime) -> MustWait:
        return MustWait(f"waiting for {self._story(row)}", at)

    @staticmethod
    def _story(row: Destination) -> str:
        if row.is_down:
            return f"{row.title}: down since {row.since:%Y-%m-%d %H:%M:%S} UTC ({row.error})"
        return f"{row.title}: it was down, answers again, and work for it is let go little by little"

    @contextmanager
    def _locked(self, name: str) -> Iterator[Destination | None]:
        with transaction.atomic():
            yield Destination.objects.select_for_update().filter(pk=name).first()

    def _keep(self, row: Destination) -> None:
        row.save()
        self._known = {**self._known, row.name: row}

    def _forget(self, name: str) -> None:
        self._known = {other: row for other, row in self._known.items() if other != name}
        self._places.pop(name, None)
        self._met = {met for met in self._met if met[0] != name}

    def _meet(self, name: str, tenant: UUID) -> None:
        if (name, tenant) not in self._met:
            Meeting.objects.bulk_create([Meeting(destination_id=name, tenant_id=tenant)], ignore_conflicts=True)
            self._met.add((name, tenant))

    def _look(self) -> None:
        """At most once a second, learn who is in trouble."""
        with self._lock:
            if time.monotonic() < self._look_at:
                return
            self._look_at = time.monotonic() + LOOK_AGAIN
        try:
            known = {row.name: row for row in Destination.objects.all()}
            if stale := [row for row in known.values() if self.clock.now() - row.touched_at > self.rules.patience]:
                # Nobody has talked to it since. Should it still be down, that is soon found out.
                forget([row.name for row in stale], untouched_since=self.clock.now() - self.rules.patience)
        except (DatabaseError, InterfaceError) as error:
            logger.debug("destinations.not_read", error=str(error))
            return
        for name in self._known.keys() - known.keys():
            self._forget(name)
        self._known = known


def private(name: str, tenant: UUID) -> str:
    """The destination as one tenant knows it."""
    return f"{tenant} {name}"


def tells_of_outage(error: BaseException | None) -> bool:
    """Whether an error says that the destination is away, and not that it refused this one piece of work."""
    match error:
        case None:
            return False
        case DestinationDown() | ConnectionError() | TimeoutError() | socket.gaierror():
            return True
        case smtplib.SMTPServerDisconnected():
            return True
        case smtplib.SMTPResponseException():
            return 400 <= error.smtp_code < 500
    return tells_of_outage(error.__cause__)


def forget(names: Collection[str], *, untouched_since: datetime | None = None) -> int:
    """Take these for well again, so that work for them goes on; return how many that were.

    What waits already keeps the time it was given.
    """
    chosen = Destination.objects.filter(pk__in=names)
    if untouched_since is not None:
        chosen = chosen.untouched_since(untouched_since)
    with transaction.atomic():
        _, deleted = chosen.delete()
    return deleted.get(Destination._meta.label, 0)


def in_trouble() -> list[Destination]:
    """Those that work waits for, or that have failed lately: for whoever may see all of them."""
    return list(Destination.objects.all())
