"""The parts of the RabbitMQ adapter that need no broker."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID

import pytest
from pika.spec import Basic, BasicProperties

from execution.broker.base import Message
from execution.broker.rabbitmq.confirms import WINDOW, Batch, ConfirmChannel, Letter
from execution.broker.rabbitmq.consumers import DeliveryTags, Run
from execution.broker.rabbitmq.topology import (
    LADDER,
    LONGEST_RUNG,
    RUNG_FRESH,
    SHORTEST_RUNG,
    Queue,
    Topology,
    rung,
)
from execution.broker.rabbitmq.wire import encode

NORMAL = 5


class ScriptedChannel(SimpleNamespace):
    """Plays the broker's part: keeps what it was sent, and hands out the adapter's callbacks."""

    def __init__(self) -> None:
        super().__init__(is_closing=False, is_closed=False, sent=[])

    def channel(self, on_open_callback: Callable[..., None]) -> ScriptedChannel:
        self.open = lambda: on_open_callback(self)
        return self

    def add_on_close_callback(self, callback: Callable[..., None]) -> None:
        self.close = callback

    def add_on_return_callback(self, callback: Callable[..., None]) -> None:
        self.give_back = callback

    def confirm_delivery(self, callback: Callable[..., None]) -> None:
        self.answer = lambda method: callback(SimpleNamespace(method=method))

    def basic_publish(
        self, exchange: str, routing_key: str, body: bytes, properties: BasicProperties, mandatory: bool
    ) -> None:
        self.sent.append(properties)


@pytest.fixture
def scripted() -> ScriptedChannel:
    return ScriptedChannel()


def start_batch(scripted: ScriptedChannel, size: int) -> Future[list[bool]]:
    future: Future[list[bool]] = Future()
    confirms = ConfirmChannel(scripted, on_trouble=lambda reason: None)
    confirms.publish(Batch([Letter("x", "tidy", NORMAL, b"{}")] * size, future))
    scripted.open()
    return future


def test_one_ack_may_confirm_many_and_a_nack_refuses(scripted: ScriptedChannel) -> None:
    future = start_batch(scripted, 5)

    scripted.answer(Basic.Ack(2))
    scripted.answer(Basic.Ack(3, multiple=True))
    scripted.answer(Basic.Nack(4))
    assert not future.done()
    scripted.answer(Basic.Ack(5))

    assert future.result(0) == [True, True, True, False, True]


def test_the_confirm_that_follows_a_return_does_not_make_it_taken(scripted: ScriptedChannel) -> None:
    future = start_batch(scripted, 3)

    scripted.give_back(scripted, Basic.Return(312, "NO_ROUTE", "x", "tidy"), scripted.sent[1], b"")
    scripted.answer(Basic.Ack(3, multiple=True))

    assert future.result(0) == [True, False, True]


def test_no_more_than_a_window_is_ever_unconfirmed(scripted: ScriptedChannel) -> None:
    future = start_batch(scripted, WINDOW + 5)
    assert len(scripted.sent) == WINDOW

    scripted.answer(Basic.Ack(WINDOW, multiple=True))
    scripted.answer(Basic.Ack(WINDOW + 5, multiple=True))

    assert len(scripted.sent) == WINDOW + 5
    assert all(future.result(0))


def test_a_rung_is_never_early_and_at_most_a_tenth_and_a_tenth_of_a_second_late() -> None:
    chance = random.Random(1)
    for _ in range(5_000):
        delay = timedelta(seconds=10 ** chance.uniform(-4, 5.78))

        wait = timedelta(milliseconds=rung(delay))

        assert delay <= wait <= delay * 1.1 + timedelta(seconds=0.1)


def test_a_delay_beyond_the_ladder_waits_on_its_longest_rung() -> None:
    assert rung(timedelta(days=7)) == rung(timedelta(days=400)) == LONGEST_RUNG == LADDER[-1]


def test_a_rung_outlives_whatever_may_be_in_it() -> None:
    for milliseconds in LADDER:
        _, queue = Topology().for_rung(milliseconds)
        last_entry = RUNG_FRESH * 1000
        assert queue.arguments["x-expires"] > last_entry + queue.arguments["x-message-ttl"]


def test_every_queue_has_the_type_that_is_asked_for_and_otherwise_says_none() -> None:
    for queue_type, said in {"classic": {"classic"}, "": {None}}.items():
        topology = Topology(queue_type=queue_type)
        parts = [*topology.foundation(), *topology.for_task("send_email"), *topology.for_rung(SHORTEST_RUNG)]
        queues = [part for part in parts if isinstance(part, Queue)]

        assert len(queues) == 3 and {queue.arguments.get("x-queue-type") for queue in queues} == said


def test_tags_are_settled_together_only_where_no_open_one_lies_below() -> None:
    tags = DeliveryTags()

    assert tags.settle([2, 3]) == Run(None, [2, 3])
    assert tags.settle([1, 5]) == Run(1, [5])
    assert tags.settle([6, 4, 8]) == Run(6, [8])
    assert tags.settle([7]) == Run(7, [])


def test_an_encoded_message_is_compact() -> None:
    sent = Message("tidy", (UUID(int=1),), NORMAL)

    assert encode(sent) == b'{"v":1,"task":"tidy","executions":["00000000-0000-0000-0000-000000000001"]}'
