"""Sends recorded executions to the broker, and notes what it has taken.

Publish, then note it: a crash in between means a second message, which the claim makes
harmless. The reverse order would lose the execution.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import structlog

from execution.broker import Broker, BrokerError, Message
from execution.broker.base import NO_DELAY, Bundle
from execution.metrics import count_sent
from execution.pace import Pace, batched
from jobs import ledger
from jobs.clock import Clock
from jobs.ledger import Outcome, Sent
from jobs.states import Status

logger = structlog.get_logger(__name__)

AHEAD = 1  # added to a priority: before its like, still behind whatever is more urgent


class Sendable(Protocol):
    """An execution, as far as a message needs to know it."""

    @property
    def id(self) -> UUID: ...
    @property
    def task(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def attempt(self) -> int: ...


class Outbox:
    def __init__(
        self,
        broker: Broker,
        *,
        clock: Clock,
        pace: Pace,
        publish_patience: timedelta,
        queue_patience: timedelta,
    ) -> None:
        self.broker = broker
        self.clock = clock
        self.pace = pace
        self.publish_patience = publish_patience
        self.queue_patience = queue_patience
        self._failed = 0  # times in a row that the broker took nothing

    def publish(self, executions: Sequence[Sendable], *, ahead: int = 0) -> list[Sent]:
        """Hand executions to the broker; return those confirmed, for `mark`. The rest wait for the recoverer."""
        if not executions:
            return []
        self.pace.exchange()
        taken = self._publish(pack(executions, self.pace.bundle, ahead))
        sent = [(one.id, one.attempt) for one in executions]
        if len(taken) == len(sent):
            return sent
        known = set(taken)
        return [one for one in sent if one[0] in known]

    def mark(self, sent: Sequence[Sent]) -> None:
        """Note what the broker has confirmed. Whatever was claimed since needs no mark."""
        if sent:
            now = self.clock.now()
            ledger.mark_queued(sent, now=now, wake_at=now + self.queue_patience)

    def send(self, executions: Sequence[Sendable]) -> None:
        self.mark(self.publish(executions))

    def send_again(self, executions: Sequence[Sendable]) -> None:
        """Send what was interrupted through no fault of its own: it has waited its turn already."""
        self.mark(self.publish(executions, ahead=AHEAD))

    def send_later(self, executions: Sequence[tuple[Sendable, timedelta]]) -> None:
        """Publish retries, each after its delay. Nothing is noted: `wake_at` lies behind the delay already."""
        self._publish([_alone(one, delay) for one, delay in executions])

    def bury(self, executions: Sequence[Sendable]) -> None:
        """Put exhausted executions among the dead letters; those not taken are tried again by the recoverer."""
        buried = _named(self._hand_over(self.broker.bury, [_alone(one) for one in executions]))
        ledger.let_rest([(one, Status.FAILED) for one in buried], wake_at=None)

    def follow_up(self, settled: Iterable[tuple[Sendable, Outcome, Status | None]]) -> None:
        """Send on what outcomes have led to: retries with their delay, the exhausted to the dead letters."""
        led_to: dict[Status | None, list[tuple[Sendable, Outcome]]] = defaultdict(list)
        for one, outcome, status in settled:
            led_to[status].append((one, outcome))
        now = self.clock.now()
        self.send_later(
            [(one, outcome.retry_at - now) for one, outcome in led_to[Status.RETRYING] if outcome.retry_at is not None]
        )
        self.send_again([one for one, _ in led_to[Status.SCHEDULED]])
        self.bury([one for one, _ in led_to[Status.FAILED]])

    def _publish(self, messages: list[Message]) -> list[UUID]:
        taken = self._hand_over(self.broker.publish, messages)
        count_sent(taken)
        return _named(taken)

    def _hand_over(self, deliver, messages: list[Message]) -> list[Message]:
        if not messages:
            return []
        try:
            taken = deliver(messages)
        except BrokerError as error:
            self._failed += 1
            if self._failed == 1:  # said once for an outage, not for each batch
                logger.warning("outbox.not_sent", error=str(error), remedy="the recoverer sends it once that works")
            return []
        if self._failed:
            logger.info("outbox.sending_again", failed_batches=self._failed)
            self._failed = 0
        return taken


def pack(executions: Iterable[Sendable], bundle: Bundle, ahead: int = 0) -> list[Message]:
    """Executions of one task and priority travel together, as many as make a bundle, most urgent first."""
    together: dict[tuple[int, str], list[UUID]] = defaultdict(list)
    for one in executions:
        together[-one.priority, one.task].append(one.id)
    return [
        Message(task, bundled, ahead - urgency)
        for (urgency, task), ids in sorted(together.items())
        for bundled in batched(ids, bundle(task))
    ]


def _named(messages: Iterable[Message]) -> list[UUID]:
    return [one for message in messages for one in message.executions]


def _alone(one: Sendable, delay: timedelta = NO_DELAY) -> Message:
    return Message(one.task, (one.id,), one.priority, delay)
