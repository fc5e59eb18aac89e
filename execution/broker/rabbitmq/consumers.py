"""One channel with a consumer for each task's queue. Used on the link's thread only.

Many deliveries can be acknowledged in one frame, with `multiple`, which settles *every* delivery up
to a tag. That is safe only when all of those still open are ours to settle; a more urgent message
popped out of turn breaks the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel
from pika.exceptions import ChannelClosedByBroker
from pika.frame import Method
from pika.spec import Basic, BasicProperties

from execution.broker.base import BrokerError
from execution.broker.rabbitmq.refusals import refusal
from execution.broker.rabbitmq.topology import Topology, declare
from execution.broker.rabbitmq.wire import Unreadable, decode

logger = structlog.get_logger(__name__)

SHOWN = 200  # bytes of an unreadable message that go into the log


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that reached us, and by which consumers: only they may settle it."""

    source: object
    tag: int
    priority: int
    executions: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Deliveries to settle together: all up to `upto` in one frame (if any), then each of `singly`."""

    upto: int | None
    singly: list[int]


class DeliveryTags:
    """The broker numbers a channel's deliveries 1, 2, 3 ...; we keep the end of the settled run."""

    def __init__(self) -> None:
        self._floor = 0  # it and all below are settled
        self._above: set[int] = set()  # settled out of turn

    def settle(self, tags: Iterable[int]) -> Run:
        """Note these open deliveries as settled, and say in how few frames to tell the broker.

        `upto` is always one of `tags`: naming one that is settled already would be an error
        that closes the channel.
        """
        ordered = sorted(tags)
        self._above.update(ordered)
        while self._floor + 1 in self._above:
            self._floor += 1
            self._above.remove(self._floor)
        together = [tag for tag in ordered if tag <= self._floor]
        return Run(together[-1] if together else None, ordered[len(together) :])


class Consumers:
    """Declares the queues it reads, reads them, and reads them again when one was deleted.

    `on_ready` is called when all of them are read, `on_refused` when the broker closes the channel.
    """

    def __init__(
        self,
        connection: SelectConnection,
        topology: Topology,
        tasks: Collection[str],
        *,
        prefetch: int,
        paused: bool,
        deliver: Callable[[Delivery], None],
        on_ready: Callable[[], None],
        on_refused: Callable[[BrokerError], None],
    ) -> None:
        self._topology = topology
        self._unread = list(tasks)
        self._prefetch = prefetch
        self._deliver = deliver
        self._on_ready = on_ready
        self._on_refused = on_refused
        self._tags = DeliveryTags()
        self._paused = paused
        self._task_of: dict[str, str] = {}  # by consumer tag
        self._channel = connection.channel(on_open_callback=self._opened)
        self._channel.add_on_close_callback(self._closed)

    def pause(self) -> None:
        """Read nothing until resumed; what is on its way already goes back."""
        if not self._paused and self._channel.is_open:
            self._paused = True
            for consumer in self._task_of:
                self._channel.basic_cancel(consumer)
            self._unread += self._task_of.values()
            self._task_of.clear()

    def resume(self) -> None:
        if self._paused and self._channel.is_open:
            self._paused = False
            self._read_next()

    def settle(self, tags: Collection[int], *, give_back: bool) -> None:
        """Acknowledge these deliveries, or have the broker offer them again."""
        if not self._channel.is_open:
            return
        run = self._tags.settle(tags)
        say = partial(self._channel.basic_nack, requeue=True) if give_back else self._channel.basic_ack
        if run.upto is not None:
            say(run.upto, multiple=True)
        for tag in run.singly:
            say(tag, multiple=False)

    def _opened(self, channel: Channel) -> None:
        channel.add_on_cancel_callback(self._cancelled)
        channel.basic_qos(prefetch_count=self._prefetch)
        declare(channel, self._topology.foundation())
        self._read_next()

    def _read_next(self, _frame: Method | None = None) -> None:
        """Read the queues one after another, each once the broker has agreed to the one before."""
        if self._paused:
            return
        if not self._unread:
            self._on_ready()
            return
        task = self._unread.pop(0)
        declare(self._channel, self._topology.for_task(task))
        consumer = self._channel.basic_consume(self._topology.queue(task), self._received, callback=self._read_next)
        self._task_of[consumer] = task

    def _cancelled(self, frame: Method) -> None:
        task = self._task_of.pop(frame.method.consumer_tag)
        logger.warning("broker.consumer_cancelled", queue=self._topology.queue(task))
        self._unread.append(task)
        self._read_next()

    def _closed(self, _channel: Channel, reason: Exception) -> None:
        if isinstance(reason, ChannelClosedByBroker):  # a lost connection is the link's to tell
            self._on_refused(refusal(reason))

    def _received(self, channel: Channel, method: Basic.Deliver, properties: BasicProperties, body: bytes) -> None:
        try:
            executions = decode(body)
        except Unreadable as error:
            # Not requeued: the queue's dead-letter exchange parks it, and what is behind it gets through.
            self._tags.settle([method.delivery_tag])
            channel.basic_reject(method.delivery_tag, requeue=False)
            logger.warning("broker.unreadable_message", queue=method.routing_key, reason=str(error), start=body[:SHOWN])
            return
        if self._paused:
            self.settle([method.delivery_tag], give_back=True)
            return
        self._deliver(Delivery(self, method.delivery_tag, properties.priority or 0, executions))
