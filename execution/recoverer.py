"""Re-drives whatever stopped moving. Any number may run.

Every unfinished execution says in `wake_at` when it should have moved by. Whatever is past
that moment was not published, lost on the way, dropped by a worker that died, or just asked
for by hand and never sent: one query finds them all, once those that nobody had to look at are
out of the way (`jobs.ledger.shelving`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction

from execution.broker import BrokerError
from execution.metrics import count_settled
from execution.outbox import Outbox
from execution.retry import WorkerLost
from execution.runner import Runner
from execution.spans import trace_ended, trace_of
from execution.waiting import look_after
from jobs import ledger
from jobs.clock import Clock
from jobs.ledger import Claim
from jobs.models import Execution
from jobs.states import AttemptOutcome, Status

logger = structlog.get_logger(__name__)

SENT_ON = (Status.SCHEDULED, Status.QUEUED, Status.RETRYING, Status.FAILED)
COLUMNS = ("id", "job_id", "task", "priority", "status", "attempt", "queued_at", "wake_at", "waits_for")
COHORTS = 10  # a round, of up to some thousand executions each
LONG_WAIT = 3  # times QUEUE_PATIENCE


@dataclass(slots=True)
class Errand:
    """What has to be seen to now and then by somebody who is there anyway."""

    event: str  # in the log, where there was something to do
    every: timedelta
    do: Callable[[], int]
    at: datetime | None = None

    def run(self, now: datetime) -> None:
        if self.at is not None and now < self.at:
            return
        self.at = now + self.every
        with suppress(BrokerError):  # one that is away is told of elsewhere, and nothing is lost by waiting
            if done := self.do():
                logger.info(self.event, done=done)


class Recoverer:
    def __init__(
        self,
        outbox: Outbox,
        runner: Runner,
        *,
        clock: Clock,
        batch: int,
        look: timedelta,
        errands: Sequence[Errand] = (),
    ) -> None:
        self.outbox = outbox
        self.runner = runner
        self.clock = clock
        self.batch = batch
        self.look = look
        self.errands = errands

    def tick(self) -> int:
        """Re-drive one batch of overdue executions; return how many there were."""
        now = self.clock.now()
        with transaction.atomic():
            looked_at = ledger.shelve(now, COHORTS)
        with transaction.atomic():
            # Rows a rival recoverer is looking after are skipped, not waited for.
            overdue = Execution.objects.overdue(now).select_for_update(skip_locked=True, no_key=True)
            rows = list(overdue.only(*COLUMNS)[: self.batch])
            found = by_status(rows)
            in_line = [one for one in found[Status.SCHEDULED] if one.waits_for]
            found[Status.SCHEDULED] = [one for one in found[Status.SCHEDULED] if not one.waits_for]
            # Before anything is sent: a recoverer that dies now leaves them to the next one.
            ledger.let_rest(
                [(one.id, status) for status in SENT_ON for one in found[status]],
                wake_at=now + self.outbox.publish_patience,
            )
            released = look_after(in_line, now=now, look=self.look, patience=self.outbox.publish_patience)
            again, exhausted = self._end_lost_attempts(found[Status.RUNNING])
        unsent = found[Status.SCHEDULED] + found[Status.RETRYING] + self._without_message(found[Status.QUEUED], now)
        self.outbox.send(unsent + released)
        self.outbox.send_again(again)
        self.outbox.bury([*found[Status.FAILED], *exhausted])
        for errand in self.errands:
            errand.run(now)
        return len(rows) + looked_at

    def _end_lost_attempts(self, lost: list[Execution]) -> tuple[list[Claim], list[Claim]]:
        """Count attempts whose worker is gone as failed, outcome unknown; return those to run again, and the others."""
        claims = ledger.read_claims([one.id for one in lost])
        outcomes = [self.runner.failed(claim, _silence(claim), ended=AttemptOutcome.UNKNOWN) for claim in claims]
        led_to = ledger.settle(outcomes)
        count_settled(zip(claims, outcomes, led_to, strict=True))
        trace_ended(zip(claims, outcomes, strict=True))
        for claim in claims:
            logger.warning(
                "execution.worker_lost",
                execution=str(claim.id),
                attempt=claim.attempt,
                worker=claim.worker,
                request_id=claim.request_id,
                **trace_of(claim),
            )
        return (
            [claim for claim, status in zip(claims, led_to, strict=True) if status is Status.RETRYING],
            [claim for claim, status in zip(claims, led_to, strict=True) if status is Status.FAILED],
        )

    def _without_message(self, queued: list[Execution], now: datetime) -> list[Execution]:
        """Those whose message is lost. One that merely waits its turn in a backlog would gain nothing by a second.

        A backlog only proves that *some* message waits. So even there, one that has waited for very
        long is sent again: a second message is harmless, a missing one is not.
        """
        depth = self.outbox.broker.depth
        backlogged = {task for task in {one.task for one in queued} if depth(task)}
        long_ago = now - LONG_WAIT * self.outbox.queue_patience
        waiting = [
            one for one in queued if one.task in backlogged and one.queued_at is not None and one.queued_at > long_ago
        ]
        ledger.let_rest([(one.id, Status.QUEUED) for one in waiting], wake_at=now + self.outbox.queue_patience)
        patient = {one.id for one in waiting}
        return [one for one in queued if one.id not in patient]


def _silence(claim: Claim) -> WorkerLost:
    return WorkerLost(f"{claim.worker} has stopped answering")


def by_status(executions: Iterable[Execution]) -> dict[Status, list[Execution]]:
    found: dict[Status, list[Execution]] = {status: [] for status in Status}
    for one in executions:
        found[Status(one.status)].append(one)
    return found
