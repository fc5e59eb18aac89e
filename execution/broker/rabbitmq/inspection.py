"""Compares what RabbitMQ holds with what we would declare, and makes nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any
from uuid import uuid4

from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

from execution.broker.base import TopologyMismatch
from execution.broker.rabbitmq import errands
from execution.broker.rabbitmq.connection import Link
from execution.broker.rabbitmq.parameters import ANSWER_TIMEOUT
from execution.broker.rabbitmq.refusals import NotThere
from execution.broker.rabbitmq.topology import Exchange, Part, Queue

NO_QUEUE = f"nobody.{uuid4().hex}"  # a name that nothing has


def mismatch(link: Link, part: Part) -> str:
    """What differs between the part and what goes by its name, with the remedy; empty where nothing does.

    Only RabbitMQ itself can tell: what exists is declared once more, which changes nothing, or is refused.
    """
    try:
        errands.run(link, partial(_declare, part, passive=True))
        errands.run(link, partial(_declare, part, passive=False))
    except NotThere:
        return ""
    except TopologyMismatch as error:
        return str(error)
    return ""


def version(link: Link) -> str:
    """What the server called its version when we connected."""

    def look(connection: SelectConnection, future: Future[Any]) -> None:
        told = connection.server_properties or {}
        future.set_result(str(told.get("version", "")))

    return str(link.ask(look, timeout=ANSWER_TIMEOUT))


def alarm(url: str) -> str:
    """Why it takes no messages, such as "low on memory"; empty while it takes them.

    RabbitMQ says so to a connection that publishes, and to no other; from then on it reads nothing that comes over it.
    So this asks over one of its own, by a message for a queue that is not there, which is thrown away.
    """
    link = Link(url, name="punctual alarm")
    try:
        return str(link.ask(_publish_nothing, timeout=ANSWER_TIMEOUT))
    finally:
        link.close()


def _publish_nothing(connection: SelectConnection, future: Future[Any]) -> None:
    def answer(told: str) -> None:
        if not future.done():
            future.set_result(told)

    def opened(channel: Channel) -> None:
        channel.basic_publish("", NO_QUEUE, b"")
        channel.basic_qos(callback=lambda _: answer(""))  # any question will do: once blocked, it has no answer

    connection.add_on_connection_blocked_callback(lambda _, frame: answer(frame.method.reason))
    channel = connection.channel(on_open_callback=opened)
    # Refused: of one that may not publish to the default exchange, RabbitMQ never learns that it would.
    channel.add_on_close_callback(lambda *_: answer(""))


def _declare(part: Part, channel: Channel, done: Callable[[Any], None], *, passive: bool) -> None:
    match part:
        case Exchange(name, kind):
            channel.exchange_declare(name, kind, passive=passive, durable=True, callback=done)
        case Queue(name, arguments=arguments):
            channel.queue_declare(name, passive=passive, durable=True, arguments=dict(arguments), callback=done)
