"""Publishes lists of messages, and knows which of them the broker has taken responsibility for.

Callers wait on their own thread; everything that touches pika happens on the link's. A message
is never sent twice from here: what is not confirmed is reported as such, and sent again by
whoever reads the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import compress

import structlog
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

from execution.broker.base import NO_DELAY, BrokerUnavailable, Message, TopologyMismatch
from execution.broker.rabbitmq import errands
from execution.broker.rabbitmq.confirms import Batch, ConfirmChannel, Letter
from execution.broker.rabbitmq.connection import Link
from execution.broker.rabbitmq.parameters import CONFIRM_TIMEOUT
from execution.broker.rabbitmq.topology import RUNG_FRESH, Part, Topology, declare, rung
from execution.broker.rabbitmq.wire import encode

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Known:
    tasks: set[str] = field(default_factory=set)
    rungs: dict[int, float] = field(default_factory=dict)  # when each was last declared
    foundation: bool = False


class Declarations:
    """Shared by threads. Two that declare the same at once do no harm: declaring is idempotent."""

    def __init__(self, link: Link, topology: Topology) -> None:
        self._link = link
        self._topology = topology
        self._known = _Known()

    def forget(self) -> None:
        """Take nothing for granted any more: the broker may have been wiped, or a queue deleted."""
        self._known = _Known()

    def ensure(self, tasks: Collection[str] = (), rungs: Collection[int] = ()) -> None:
        """Declare what of this is not known to exist, and nothing else: a wrong queue stops its own task only."""
        known = self._known  # noted in this one even if forgotten meanwhile, and then rightly lost
        now = time.monotonic()
        parts: list[Part] = []
        new = set(tasks) - known.tasks
        if not known.foundation:
            parts += self._topology.foundation()
        stale = {delay for delay in rungs if now - known.rungs.get(delay, -RUNG_FRESH) >= RUNG_FRESH}
        for task in sorted(new):
            parts += self._topology.for_task(task)
        for delay in sorted(stale):
            parts += self._topology.for_rung(delay)
        if parts:
            errands.run(self._link, partial(_declare_all, parts))
            known.tasks |= new
            known.rungs |= dict.fromkeys(stale, now)
            known.foundation = True


def _declare_all(parts: list[Part], channel: Channel, done: Callable[[None], None]) -> None:
    declare(channel, parts, partial(done, None))


class Publisher:
    """Shared by threads. Owns the link that it publishes over."""

    def __init__(self, url: str, topology: Topology) -> None:
        self.link = Link(url, name="punctual publisher", on_lost=self._lost)
        self._topology = topology
        self._declarations = Declarations(self.link, topology)
        self._confirms: ConfirmChannel | None = None
        self._troubled = False  # said so already, for the latest publish

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        """Send each to its task's queue, or to the rung that holds it back for its delay."""
        if not messages:
            return []
        rungs = [rung(message.delay) if message.delay > NO_DELAY else None for message in messages]
        tasks = {message.task for message in messages}
        try:
            self._declarations.ensure(tasks, {milliseconds for milliseconds in rungs if milliseconds is not None})
        except TopologyMismatch:
            if len(tasks) == 1:
                raise
            return self._publish_one_by_one(messages, tasks)
        exchanges = [
            self._topology.exchange if milliseconds is None else self._topology.retry(milliseconds)
            for milliseconds in rungs
        ]
        return self._send(messages, exchanges)

    def _publish_one_by_one(self, messages: Sequence[Message], tasks: Collection[str]) -> list[Message]:
        """A task at a time, so that a wrong queue stops its own task only."""
        taken: list[Message] = []
        for task in tasks:
            try:
                taken += self.publish([message for message in messages if message.task == task])
            except TopologyMismatch as error:
                logger.error("broker.topology_mismatch", task=task, error=str(error))
        return taken

    def bury(self, messages: Sequence[Message]) -> list[Message]:
        """Send each to the dead letters."""
        if not messages:
            return []
        self._declarations.ensure()
        return self._send(messages, [self._topology.dead_letter_exchange] * len(messages))

    def _send(self, messages: Sequence[Message], exchanges: Sequence[str]) -> list[Message]:
        letters = [
            Letter(exchange, message.task, message.priority, encode(message))
            for message, exchange in zip(messages, exchanges, strict=True)
        ]
        taken = self.link.ask(partial(self._start, letters), timeout=CONFIRM_TIMEOUT)
        return list(compress(messages, taken))

    def begin(self, letters: list[Letter]) -> Future[list[bool]]:
        """Start sending, for a caller that must not wait; the future tells of each letter whether it was taken."""
        return self.link.call(partial(self._start, letters))

    # ---- on the link's thread ----

    def _start(self, letters: list[Letter], connection: SelectConnection, future: Future[list[bool]]) -> None:
        if self._confirms is None or not self._confirms.is_usable:
            self._confirms = ConfirmChannel(connection, on_trouble=self._trouble)
        self._troubled = False
        self._confirms.publish(Batch(letters, future))

    def _trouble(self, reason: str) -> None:
        self._declarations.forget()
        if not self._troubled:
            self._troubled = True
            logger.warning("broker.messages_refused", reason=reason)

    def _lost(self, error: BrokerUnavailable) -> None:
        self._declarations.forget()
        confirms, self._confirms = self._confirms, None
        if confirms is not None:
            confirms.abandon(error)
