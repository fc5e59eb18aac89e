"""Writes what handlers say, in groups, a few times a second.

The bookkeeper writes how an attempt ended; this writes what it said before. So that nobody who sees an end has missed
the last words, the outcome of an attempt that spoke comes through here. Words matter less than outcomes: while the
database is away they are kept up to a bound, and hold up nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from queue import Empty, SimpleQueue
from threading import Thread

import structlog
from django.db import InterfaceError, OperationalError, connections, transaction

from execution.bookkeeper import Bookkeeper
from execution.voice import Line, Step, Words
from execution.workshop import Finished
from jobs import ledger
from jobs.ledger import Attempted, Claim

logger = structlog.get_logger(__name__)

MOST_UNWRITTEN = 20_000  # lines, while the database is away; later ones are dropped
LARGEST_GROUP = 2_000  # lines a statement

Heard = tuple[Attempted, Words]


class Scribe:
    """The bookkeeper is told of each outcome once what came before it is written, or could not be."""

    def __init__(self, bookkeeper: Bookkeeper, *, pause: timedelta) -> None:
        self._bookkeeper = bookkeeper
        self._pause = pause.total_seconds()
        # Handlers' threads can be interrupted between any two steps, with a lock in their hands. Each of these is
        # changed in a single step, without one.
        self._spoke: set[Attempted] = set()  # those that said something, and whose end was not passed on yet
        self._queue: SimpleQueue[Heard | list[Finished] | None] = SimpleQueue()
        self._lines: list[tuple[Attempted, Line]] = []
        self._steps: dict[Attempted, Step] = {}
        self._dropped = 0
        self._thread = Thread(target=self._run, name="scribe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hear(self, claim: Claim, words: Words) -> None:
        self._spoke.add(claim.key)
        self._queue.put((claim.key, words))

    def note(self, finished: Sequence[Finished]) -> None:
        """Pass these on: at once, but for those that spoke."""
        if self._spoke and (spoke := [one for one in finished if one[0].key in self._spoke]):
            self._queue.put(spoke)
            finished = [one for one in finished if one not in spoke]
        if finished:
            self._bookkeeper.note(finished)

    def forget(self, claims: Iterable[Claim]) -> None:
        """These have no outcome to wait for any more."""
        self._spoke.difference_update([claim.key for claim in claims])

    def close(self, timeout: timedelta) -> None:
        """Write what was heard so far, pass on what waits for it, and end."""
        self._queue.put(None)
        self._thread.join(timeout.total_seconds())

    def _run(self) -> None:
        open_ = True
        while open_:
            finished, open_ = self._gather()
            self._write(last=not open_)
            if finished:
                self.forget(claim for claim, _ in finished)
                self._bookkeeper.note(finished)
        connections.close_all()

    def _gather(self) -> tuple[list[Finished], bool]:
        """Wait for words, and for those that soon follow. An outcome behind them cuts that short, False is the end."""
        deadline = time.monotonic() + self._pause if self._lines or self._steps else None
        while True:
            try:
                item = self._queue.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
            except Empty:
                return [], True
            if item is None:
                return [], False
            if isinstance(item, list):
                return item, True
            self._remember(*item)
            deadline = deadline or time.monotonic() + self._pause

    def _remember(self, key: Attempted, words: Words) -> None:
        if isinstance(words, Step):
            known = self._steps.get(key)
            if known is None or known.number < words.number:
                self._steps[key] = words
        elif len(self._lines) < MOST_UNWRITTEN:
            self._lines.append((key, words))
        else:
            self._dropped += 1

    def _write(self, *, last: bool) -> None:
        try:
            while self._lines:
                _keep_lines(self._lines[:LARGEST_GROUP])
                del self._lines[:LARGEST_GROUP]
            _keep_steps(self._steps)
            self._steps = {}
        except Exception as error:
            logger.warning("scribe.could_not_write", lines=len(self._lines), error=str(error))
            connections.close_all()
            if last or not isinstance(error, (OperationalError, InterfaceError)):
                self._lines, self._steps = [], {}  # to try again would not help
        if self._dropped and not self._lines:
            logger.error("scribe.lines_dropped", lines=self._dropped, reason="the database was away for too long")
            self._dropped = 0


def _keep_lines(lines: Sequence[tuple[Attempted, Line]]) -> None:
    with transaction.atomic():
        ledger.keep_lines([(*key, line.number, line.at, line.level, line.text) for key, line in lines])


def _keep_steps(steps: dict[Attempted, Step]) -> None:
    if not steps:
        return
    with transaction.atomic():
        ledger.keep_progress(
            [(*key, step.number, step.at, step.fraction, step.message) for key, step in sorted(steps.items())]
        )
