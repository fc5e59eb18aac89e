"""One pass through the dead letters, to list them or to take some out.

It reads the queue from its head, over a connection of its own so that publishing is not held up,
acknowledges what is meant, and closes its channels: that puts all the rest back, in the place
where it was. A process killed midway has done no more than that.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any
from uuid import UUID

from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel
from pika.exceptions import ChannelClosedByBroker, ChannelClosedByClient
from pika.frame import Method
from pika.spec import Basic, BasicProperties

from execution.broker.base import BrokerUnavailable
from execution.broker.rabbitmq.confirms import Letter
from execution.broker.rabbitmq.parameters import CLOSE_TIMEOUT
from execution.broker.rabbitmq.refusals import refusal
from execution.broker.rabbitmq.topology import Topology
from execution.broker.rabbitmq.wire import Unreadable, decode, without

RESOURCE_LOCKED = 405
SETTLED = 3  # answers in a row; the first may overtake acknowledgements, the second what these let through

# Messages a channel holds. RabbitMQ searches them from the first for each one that is acknowledged:
# with all on one channel, taking every other one out of 50,000 took it minutes.
HELD = 1_000


class InUse(BrokerUnavailable):
    """Somebody else goes through the dead letters just now."""


class Pass(ABC):
    """Reads the dead letters once, with one channel after another. Used on the link's thread only.

    `answer` is what the future gets once all that goes back to the queue is back.
    """

    answer: Any

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._readers: list[Channel] = []  # the last one reads, the others hold what they have read
        self._held = 0  # messages sent to us and not acknowledged
        self._behind = 0  # messages not sent to us
        self._settling = 0  # answers since nothing more is expected
        self._over = False  # nothing more is read
        self._gave_back_at = 0.0
        self._error: Exception | None = None

    @abstractmethod
    def read(self, executions: tuple[UUID, ...], channel: Channel, method: Basic.Deliver, letter: Letter) -> bool:
        """Whether to acknowledge this message. It stays where it was otherwise."""

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the rest need not be read."""

    def start(self, connection: SelectConnection, future: Future[Any]) -> None:
        self._connection = connection
        self._future = future
        self._keeper = connection.channel(on_open_callback=self._take_turn)
        self._keeper.add_on_close_callback(self._turn_over)

    def wind_up(self) -> None:
        """Do what is left to do, and leave."""
        self.leave()

    def leave(self) -> None:
        """Give back what is held."""
        self._gave_back_at = time.monotonic()
        for channel in reversed(self._readers):  # the last one has room, and would be sent what the others give back
            if channel.is_open:
                channel.close()
        self._left()

    def _take_turn(self, channel: Channel) -> None:
        channel.queue_declare(self._topology.dead_letter_reader, exclusive=True, callback=lambda _: self._read_on())

    def _turn_over(self, _channel: Channel, reason: Exception) -> None:
        if self._future.done() or not isinstance(reason, (ChannelClosedByClient, ChannelClosedByBroker)):
            return  # a lost connection is the link's to tell
        if self._error is not None:
            self._future.set_exception(self._error)
        elif isinstance(reason, ChannelClosedByClient):
            self._future.set_result(self.answer)
        elif reason.reply_code == RESOURCE_LOCKED:
            self._future.set_exception(InUse("Somebody else goes through the dead letters. Try again later."))
        else:
            self._future.set_exception(refusal(reason))

    def _read_on(self) -> None:
        """Read with a fresh channel: the one before holds as much as it may."""
        self._settling = 0
        channel = self._connection.channel(on_open_callback=self._consume)
        channel.add_on_close_callback(self._closed)
        self._readers.append(channel)

    def _consume(self, channel: Channel) -> None:
        channel.basic_qos(prefetch_count=HELD)
        channel.basic_consume(
            self._topology.dead_letter_queue, self._received, callback=lambda _: self._ask_what_is_left(channel)
        )

    def _received(self, channel: Channel, method: Basic.Deliver, properties: BasicProperties, body: bytes) -> None:
        if not self._over and self._is_meant(channel, method, properties, body):
            channel.basic_ack(method.delivery_tag)
        else:
            self._held += 1
        self._over = self._over or self.is_done
        if not self._over and self._held == HELD * len(self._readers):
            self._read_on()

    def _is_meant(self, channel: Channel, method: Basic.Deliver, properties: BasicProperties, body: bytes) -> bool:
        try:
            executions = decode(body)
        except Unreadable:
            return False  # for a person to look at
        exchange = self._topology.dead_letter_exchange
        return self.read(
            executions, channel, method, Letter(exchange, method.routing_key, properties.priority or 0, body)
        )

    def _ask_what_is_left(self, channel: Channel) -> None:
        if channel is self._readers[-1] and channel.is_open:
            channel.queue_declare(
                self._topology.dead_letter_queue, passive=True, callback=partial(self._told_what_is_left, channel)
            )

    def _told_what_is_left(self, channel: Channel, frame: Method) -> None:
        if channel is not self._readers[-1]:
            return
        self._behind = frame.method.message_count
        # An answer overtakes what is on its way inside the broker: only after a few more is all of it here.
        self._settling = self._settling + 1 if self._over or not self._behind else 0
        if self._settling < SETTLED:
            self._ask_what_is_left(channel)
        else:
            self._over = True
            self.wind_up()

    def _closed(self, _channel: Channel, reason: Exception) -> None:
        if isinstance(reason, ChannelClosedByBroker):
            self._error = refusal(reason)
            self._over = True
            self.leave()
        elif isinstance(reason, ChannelClosedByClient):
            self._left()

    def _left(self) -> None:
        if all(channel.is_closed for channel in self._readers) and self._keeper.is_open:
            self._keeper.queue_declare(self._topology.dead_letter_queue, passive=True, callback=self._end_turn)

    def _end_turn(self, frame: Method) -> None:
        """Let the next one in when all messages are back, which is a little after the channels are closed."""
        waited = time.monotonic() - self._gave_back_at
        if frame.method.message_count < self._behind + self._held and waited < CLOSE_TIMEOUT:
            self._left()
        elif self._keeper.is_open:
            self._keeper.queue_delete(self._topology.dead_letter_reader)
            self._keeper.close()


class Listing(Pass):
    """Notes which executions the messages name."""

    def __init__(self, topology: Topology, limit: int) -> None:
        super().__init__(topology)
        self.answer: list[UUID] = []
        self._limit = limit

    def read(self, executions: tuple[UUID, ...], channel: Channel, method: Basic.Deliver, letter: Letter) -> bool:
        self.answer += executions
        return False

    @property
    def is_done(self) -> bool:
        return len(self.answer) >= self._limit


class Removal(Pass):
    """Takes out the messages of some executions, and counts them."""

    def __init__(
        self,
        topology: Topology,
        executions: Collection[UUID],
        replace: Callable[[list[Letter], Callable[[list[bool]], None]], None],
    ) -> None:
        super().__init__(topology)
        self.answer = 0
        self._replace = replace
        self._wanted = Counter(executions)
        self._shared: list[tuple[Channel, int, Letter]] = []  # messages that name others too: where, and for those

    def read(self, executions: tuple[UUID, ...], channel: Channel, method: Basic.Deliver, letter: Letter) -> bool:
        meant = self._wanted.keys() & set(executions)
        for one in meant:
            self._wanted[one] -= 1
            if not self._wanted[one]:
                del self._wanted[one]
        is_whole = meant.issuperset(executions)
        if is_whole:
            self.answer += 1
        elif meant:
            rest = replace(letter, body=without(letter.body, meant))
            self._shared.append((channel, method.delivery_tag, rest))
        return is_whole

    @property
    def is_done(self) -> bool:
        return not self._wanted

    def wind_up(self) -> None:
        if self._shared:
            self._replace([letter for *_, letter in self._shared], self._replaced)
        else:
            self.leave()

    def _replaced(self, taken: list[bool]) -> None:
        """Only now may the old ones go: the reverse order would lose the others they name."""
        for channel, tag, _ in compress(self._shared, taken):
            if channel.is_open:
                channel.basic_ack(tag)
                self._held -= 1
        self.leave()
