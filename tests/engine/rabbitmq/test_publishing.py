"""Messages that are handed to RabbitMQ."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from uuid import UUID

import pytest
from django.conf import settings
from pika.adapters.blocking_connection import BlockingChannel

from execution.broker.base import BrokerUnavailable
from execution.broker.rabbitmq import RabbitMQBroker, publisher
from execution.broker.rabbitmq.confirms import WINDOW
from execution.broker.rabbitmq.topology import Topology
from tests.engine.rabbitmq.mail import (
    HIGH,
    LOW,
    NORMAL,
    TASKS,
    eventually,
    message,
    receive,
)

AMQP_URL = settings.AMQP_URL
pytestmark = pytest.mark.skipif(not AMQP_URL, reason="this mode has no RabbitMQ")


def test_what_the_broker_confirmed_is_returned_and_waits_in_the_queue_of_its_task(
    broker: RabbitMQBroker,
) -> None:
    messages = [message("tidy"), message("email", ids=3), message("tidy")]

    assert broker.publish(messages) == messages

    assert (broker.depth("tidy"), broker.depth("email")) == (2, 1)


def test_queues_of_a_type_that_is_asked_for_carry_messages(topology: Topology) -> None:
    with closing(RabbitMQBroker(AMQP_URL, prefix=topology.prefix, queue_type="classic")) as broker:
        messages = [message("tidy"), message("email")]

        assert broker.publish(messages) == messages and broker.bury(messages) == messages

        assert (broker.depth("tidy"), broker.dead_letters(), broker.mismatches(["tidy", "email"])) == (1, 2, [])


def test_a_list_longer_than_the_window_is_confirmed_to_the_last(broker: RabbitMQBroker) -> None:
    messages = [message() for _ in range(WINDOW * 2 + 10)]

    assert broker.publish(messages) == messages


def test_threads_that_publish_at_once_each_get_their_own_answer(broker: RabbitMQBroker) -> None:
    lists = [[message() for _ in range(50)] for _ in range(8)]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(broker.publish, lists))

    assert answers == lists


def test_a_message_is_persistent_and_carries_ids_only(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    sent = message(ids=2, priority=HIGH)

    broker.publish([sent])

    _, properties, body = channel.basic_get(topology.queue("tidy"), auto_ack=True)
    assert json.loads(body) == {"v": 1, "task": "tidy", "executions": [str(id) for id in sent.executions]}
    assert (properties.delivery_mode, properties.priority) == (2, HIGH)
    assert properties.content_type == "application/json"


def test_a_message_whose_queue_was_deleted_is_not_reported_as_taken_and_the_next_finds_a_new_queue(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    broker.publish([message()])
    channel.queue_delete(topology.queue("tidy"))
    lost, kept = message("tidy"), message("email")

    assert broker.publish([lost, kept]) == [kept]

    assert broker.publish([lost]) == [lost]
    assert broker.depth("tidy") == 1


def test_a_message_whose_binding_is_missing_is_not_reported_as_taken(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    broker.publish([message()])
    channel.queue_unbind(topology.queue("tidy"), topology.exchange, "tidy")

    assert broker.publish([message()]) == []


def test_a_deleted_exchange_is_reported_and_made_again(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    broker.publish([message()])
    channel.exchange_delete(topology.exchange)
    sent = message()

    with pytest.raises(BrokerUnavailable, match="no exchange"):
        broker.publish([sent])

    assert broker.publish([sent]) == [sent]


def test_a_task_nobody_registered_gets_its_queue_when_it_is_first_published(broker: RabbitMQBroker) -> None:
    broker.ping()
    assert broker.depth("late") == 0

    broker.publish([message("late")])

    assert broker.depth("late") == 1


def test_nothing_to_publish_asks_nothing_of_the_broker() -> None:
    nowhere = RabbitMQBroker("amqp://guest:guest@127.0.0.1:1/%2F")

    assert nowhere.publish([]) == []


def test_the_buried_lie_among_the_dead_letters(broker: RabbitMQBroker) -> None:
    messages = [message("tidy"), message("email")]

    assert broker.bury(messages) == messages

    assert broker.dead_letters() == 2
    assert (broker.depth("tidy"), broker.depth("email")) == (0, 0)


def test_an_urgent_message_overtakes_those_that_wait(broker: RabbitMQBroker) -> None:
    low, normal, high = (message(priority=priority) for priority in (LOW, NORMAL, HIGH))
    broker.publish([low, normal, high])

    with closing(broker.subscribe(["tidy"], prefetch=1)) as inbox:
        received = receive(inbox, 3, limit=1)

    assert received == [*high.executions, *normal.executions, *low.executions]


def test_an_urgent_message_overtakes_those_that_have_already_reached_us(broker: RabbitMQBroker) -> None:
    low, high = message("tidy", ids=2, priority=LOW), message("email", priority=HIGH)
    with closing(broker.subscribe(TASKS, prefetch=10)) as inbox:
        broker.publish([low])
        assert eventually(lambda: len(inbox._heap._heap) == 1)
        broker.publish([high])
        assert eventually(lambda: len(inbox._heap._heap) == 2)  # the broker counts it as sent before it is here

        received = receive(inbox, 3, limit=1)

    assert received == [*high.executions, *low.executions]


def test_a_delay_is_kept_even_behind_a_longer_one(broker: RabbitMQBroker) -> None:
    delays = {message(delay=timedelta(seconds=seconds)): seconds for seconds in (2.0, 0.5, 1.3, 0.05, 2.0, 0.8)}
    seconds_of = {sent.executions[0]: seconds for sent, seconds in delays.items()}
    with closing(broker.subscribe(["tidy"], prefetch=10)) as inbox:
        start = time.monotonic()
        assert broker.publish(list(delays)) == list(delays)
        published = time.monotonic()

        arrived: dict[UUID, float] = {}
        while len(arrived) < len(delays) and time.monotonic() - start < 5:
            with inbox.take(1, wait=timedelta(seconds=0.5)) as ids:
                arrived |= dict.fromkeys(ids, time.monotonic())

    assert arrived.keys() == seconds_of.keys()
    for execution, at in arrived.items():
        asked = seconds_of[execution]
        assert at - start >= asked
        assert at - published <= asked * 1.1 + 0.2


def test_a_rung_that_expired_is_declared_again(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "RUNG_FRESH", 0)
    sent = message(delay=timedelta(seconds=0.1))
    broker.publish([sent])
    channel.queue_delete(topology.retry(100))

    assert broker.publish([sent]) == [sent]
