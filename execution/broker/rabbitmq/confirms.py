"""One channel in confirm mode, and who waits for which confirm. Used on the link's thread only.

Waiting for each confirm in turn would cost a round trip a message. So up to WINDOW messages
are on their way at once, whoever they belong to, and each batch learns when all of its own
are settled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from uuid import uuid4

from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel
from pika.delivery_mode import DeliveryMode
from pika.exceptions import ChannelClosedByBroker
from pika.frame import Method
from pika.spec import Basic, BasicProperties

from execution.broker.rabbitmq.refusals import refusal
from execution.broker.rabbitmq.wire import CONTENT_TYPE

WINDOW = 2_000  # unconfirmed messages; bounds what piles up here while the broker is slow


@dataclass(frozen=True, slots=True)
class Letter:
    exchange: str
    routing_key: str
    priority: int
    body: bytes


@dataclass(slots=True)
class Batch:
    """The letters of one publish. Its future gets, for each, whether the broker took it."""

    letters: list[Letter]
    future: Future[list[bool]]
    sent: int = 0
    settled: int = 0
    taken: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = [False] * len(self.letters)

    def settle(self, index: int, *, taken: bool) -> None:
        self.taken[index] = taken
        self.settled += 1
        if self.settled == len(self.letters) and not self.future.done():
            self.future.set_result(self.taken)

    def give_up(self, error: Exception) -> None:
        """Report what was taken so far; when that is nothing, the error says more."""
        if self.future.done():
            return
        if any(self.taken):
            self.future.set_result(self.taken)
        else:
            self.future.set_exception(error)


class ConfirmChannel:
    """Publishes batches in turn. Once its channel closes it has given up on all of them, and is useless.

    `on_trouble` hears why messages came back or the channel closed: something we declared is gone.
    """

    def __init__(self, connection: SelectConnection, *, on_trouble: Callable[[str], None]) -> None:
        self._on_trouble = on_trouble
        self._id = uuid4().hex[:12]
        self._ready = False
        self._last_sent = 0  # tag; the broker numbers a channel's messages the same way
        self._settled_upto = 0  # tag; this and all below are settled
        self._unconfirmed: dict[int, tuple[Batch, int]] = {}
        self._unsent: deque[Batch] = deque()
        self._channel = connection.channel(on_open_callback=self._opened)
        self._channel.add_on_close_callback(self._closed)

    @property
    def is_usable(self) -> bool:
        return not (self._channel.is_closing or self._channel.is_closed)

    def publish(self, batch: Batch) -> None:
        self._unsent.append(batch)
        self._send()

    def abandon(self, error: Exception) -> None:
        """Give up on everything that waits."""
        waiting = [*(batch for batch, _ in self._unconfirmed.values()), *self._unsent]
        self._unconfirmed.clear()
        self._unsent.clear()
        for batch in waiting:
            batch.give_up(error)

    def _opened(self, channel: Channel) -> None:
        channel.add_on_return_callback(self._returned)
        channel.confirm_delivery(self._answered)
        self._ready = True
        self._send()

    def _closed(self, _channel: Channel, reason: Exception) -> None:
        if isinstance(reason, ChannelClosedByBroker):  # a lost connection is the link's to tell
            error = refusal(reason)
            self._on_trouble(str(error))
            self.abandon(error)

    def _send(self) -> None:
        while self._ready and self._unsent and (room := WINDOW - len(self._unconfirmed)) > 0:
            batch = self._unsent[0]
            try:
                for index in range(batch.sent, min(batch.sent + room, len(batch.letters))):
                    self._send_one(batch, index)
            except Exception as error:  # a letter that cannot be put on the wire holds nobody else up
                self._unsent.popleft()
                batch.give_up(error)
                continue
            if batch.sent == len(batch.letters):
                self._unsent.popleft()

    def _send_one(self, batch: Batch, index: int) -> None:
        letter = batch.letters[index]
        tag = self._last_sent + 1
        properties = BasicProperties(
            content_type=CONTENT_TYPE,
            delivery_mode=DeliveryMode.Persistent,
            priority=letter.priority,
            message_id=f"{self._id}-{tag}",
        )
        # Mandatory: without it, a message that no queue wants is confirmed and thrown away.
        self._channel.basic_publish(letter.exchange, letter.routing_key, letter.body, properties, mandatory=True)
        self._last_sent = tag
        self._unconfirmed[tag] = (batch, index)
        batch.sent = index + 1

    def _returned(self, _channel: Channel, method: Basic.Return, properties: BasicProperties, _body: bytes) -> None:
        # The confirm of a returned message still comes, after this: its tag is then unknown, and passed over.
        self._settle(int(properties.message_id.rpartition("-")[2]), taken=False)
        self._on_trouble(f"{method.reply_text}: {method.exchange} -> {method.routing_key}")

    def _answered(self, frame: Method) -> None:
        answer: Basic.Ack | Basic.Nack = frame.method
        first = self._settled_upto + 1 if answer.multiple else answer.delivery_tag
        for tag in range(first, answer.delivery_tag + 1):
            self._settle(tag, taken=isinstance(answer, Basic.Ack))
        if answer.multiple:
            self._settled_upto = answer.delivery_tag
        if not self._unconfirmed:
            self._settled_upto = self._last_sent
        if len(self._unconfirmed) <= WINDOW // 2:
            self._send()

    def _settle(self, tag: int, *, taken: bool) -> None:
        entry = self._unconfirmed.pop(tag, None)
        if entry is not None:
            batch, index = entry
            batch.settle(index, taken=taken)
