"""Writes outcomes in groups: one commit for all that ended within a few milliseconds.

It is the only writer of results, so a slow database holds up bookkeeping, never a handler. What
follows from an outcome (a retry, a dead letter) is sent by a thread of its own: a broker that does
not answer must not keep results from being written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from queue import Empty, SimpleQueue
from threading import Thread

import structlog
from django.db import InterfaceError, OperationalError, connections

from execution.metrics import count_settled
from execution.outbox import Outbox
from execution.spans import trace_of
from execution.workshop import Finished
from jobs import ledger
from jobs.ledger import Claim
from jobs.states import Status

logger = structlog.get_logger(__name__)

LARGEST_GROUP = 500
LONGEST_DELAY = 0.03  # seconds: a result should be seen while somebody still looks
TRY_AGAIN = 0.5  # seconds, while the database is away
FOLLOWED_UP = (Status.RETRYING, Status.SCHEDULED, Status.FAILED)

Written = Sequence[tuple[Finished, Status | None]]  # with what each outcome has led to: nothing, if it came too late


class Bookkeeper:
    """Settles what is noted, sends retries on their way and buries the dead.

    `on_settled` is told of each claim that is off our hands, whether or not its outcome counted.
    """

    def __init__(self, outbox: Outbox, *, delay: timedelta, on_settled: Callable[[list[Claim]], None]) -> None:
        self.outbox = outbox
        self.delay = delay.total_seconds()
        self.on_settled = on_settled
        self.concluded = 0  # groups with an attempt that its handler has ended: while they come, work gets done
        self._took = 0.0  # seconds that the last group took: while writing is slow, larger groups are worth waiting for
        self._noted: SimpleQueue[Sequence[Finished] | None] = SimpleQueue()
        self._written: SimpleQueue[Written | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._run, name="bookkeeper", daemon=True),
            Thread(target=self._send, name="postman", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def note(self, finished: Sequence[Finished]) -> None:
        self._noted.put(finished)

    def close(self, timeout: timedelta) -> None:
        """Write what was noted so far, send what follows from it, and end."""
        deadline = time.monotonic() + timeout.total_seconds()
        self._noted.put(None)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        open_ = True
        while open_:
            group, open_ = self._gather()
            if group:
                self._settle(group)
            del group  # with its payloads, which would be kept until the next outcome comes
        self._written.put(None)
        connections.close_all()

    def _gather(self) -> tuple[list[Finished], bool]:
        """Wait for an outcome, then for those right behind it. False at the end of all."""
        group: list[Finished] = []
        item = self._noted.get()
        deadline = time.monotonic() + min(LONGEST_DELAY, max(self.delay, self._took))
        while item is not None:
            group += item
            left = deadline - time.monotonic()
            if left <= 0 or len(group) >= LARGEST_GROUP:
                return group, True
            try:
                item = self._noted.get(timeout=left)
            except Empty:
                return group, True
        return group, False

    def _settle(self, group: list[Finished]) -> None:
        begun = time.monotonic()
        written = list(zip(group, self._write(group), strict=True))
        self._took = time.monotonic() - begun
        self.outbox.pace.note((claim.task, outcome.took) for claim, outcome in group if outcome.took is not None)
        self.outbox.pace.exchange()
        count_settled((claim, outcome, status) for (claim, outcome), status in written)
        if any(outcome.took is not None and status is not None for (_, outcome), status in written):
            self.concluded += 1
        for (claim, outcome), status in written:
            if status is None:
                logger.warning(
                    "execution.outcome_came_too_late",
                    execution=str(claim.id),
                    attempt=claim.attempt,
                    request_id=claim.request_id,
                    **trace_of(claim),
                    status=outcome.status.value,
                    reason="the lease ran out and the execution moved on",
                )
        if followed_up := [one for one in written if one[1] in FOLLOWED_UP]:
            self._written.put(followed_up)
        self.on_settled([claim for claim, _ in group])

    def _send(self) -> None:
        while (written := self._written.get()) is not None:
            try:
                self.outbox.follow_up((claim, outcome, status) for (claim, outcome), status in written)
            except Exception as error:
                # The rows are written, and each carries its wake_at: the recoverer sends what we could not.
                logger.exception("bookkeeper.sending_failed", error=str(error))
                connections.close_all()
            del written
        connections.close_all()

    def _write(self, group: list[Finished]) -> list[Status | None]:
        """Commit the outcomes and return what each has led to.

        Never gives up while the database is away: should a lease run out meanwhile, the guard in the
        UPDATE makes this harmless.
        """
        failures = 0
        while True:
            try:
                return ledger.settle([outcome for _, outcome in group])
            except (OperationalError, InterfaceError) as error:
                if not failures:
                    logger.warning("bookkeeper.database_unavailable", outcomes=len(group), error=str(error))
                failures += 1
                connections.close_all()
                time.sleep(TRY_AGAIN)
            except Exception as error:
                if len(group) > 1:
                    # One outcome that cannot be written must not take its neighbours with it.
                    return [status for one in group for status in self._write([one])]
                logger.exception("bookkeeper.outcome_refused", execution=str(group[0][0].id), error=str(error))
                return [None]
