"""Small questions to the broker, each over a channel of its own.

RabbitMQ refuses by closing the channel. On a channel of its own a refusal takes nobody else's
unconfirmed messages with it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel
from pika.exceptions import ChannelClosedByBroker

from execution.broker.rabbitmq.connection import Link
from execution.broker.rabbitmq.parameters import ANSWER_TIMEOUT
from execution.broker.rabbitmq.refusals import NotThere, refusal

Work = Callable[[Channel, Callable[[Any], None]], None]


def run(link: Link, work: Work) -> Any:
    """Have `work(channel, done)` run on a fresh channel, and return what it passes to `done`.

    Raises TopologyMismatch or BrokerUnavailable when the broker closes the channel instead.
    """
    return link.ask(partial(_open, work), timeout=ANSWER_TIMEOUT)


def count(link: Link, queue: str) -> int:
    """Return how many messages are ready in a queue; a queue that does not exist has none."""

    def look(channel: Channel, done: Callable[[int], None]) -> None:
        channel.queue_declare(queue, passive=True, callback=lambda ok: done(ok.method.message_count))

    try:
        return int(run(link, look))
    except NotThere:
        return 0


def _open(work: Work, connection: SelectConnection, future: Future[Any]) -> None:
    def done(answer: Any) -> None:
        if not future.done():
            future.set_result(answer)
        if channel.is_open:
            channel.close()

    def opened(channel: Channel) -> None:
        try:
            work(channel, done)
        except Exception as error:  # on this thread nobody else would hear of it
            future.set_exception(error)
            channel.close()

    def closed(_channel: Channel, reason: BaseException) -> None:
        by_broker = isinstance(reason, ChannelClosedByBroker)  # a lost connection is the link's to tell
        if by_broker and not future.done():
            future.set_exception(refusal(reason))

    channel = connection.channel(on_open_callback=opened)
    channel.add_on_close_callback(closed)
