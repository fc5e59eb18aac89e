"""Messages that RabbitMQ hands to us."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta

import pytest
from django.conf import settings
from pika.adapters.blocking_connection import BlockingChannel

from execution.broker.base import BrokerUnavailable, Inbox, TopologyMismatch
from execution.broker.rabbitmq import RabbitMQBroker
from execution.broker.rabbitmq.topology import Topology
from tests.engine.rabbitmq.mail import (
    AT_ONCE,
    HIGH,
    LOW,
    SOON,
    TASKS,
    eventually,
    message,
    receive,
)

AMQP_URL = settings.AMQP_URL
pytestmark = pytest.mark.skipif(not AMQP_URL, reason="this mode has no RabbitMQ")


def test_leaving_the_block_acknowledges(broker: RabbitMQBroker) -> None:
    sent = [message(ids=2), message(ids=2), message(ids=2)]
    broker.publish(sent)

    with closing(broker.subscribe(["tidy"], prefetch=10)) as inbox:
        assert sorted(receive(inbox, 6)) == sorted(id for each in sent for id in each.executions)

    assert broker.depth("tidy") == 0


def test_a_message_is_never_split_and_the_rest_waits_for_the_next_take(broker: RabbitMQBroker) -> None:
    broker.publish([message(ids=3), message(ids=3), message(ids=3)])
    with closing(broker.subscribe(["tidy"], prefetch=10)) as inbox:
        assert eventually(lambda: broker.depth("tidy") == 0)
        time.sleep(0.1)  # for the last delivery to cross from the broker to us

        with inbox.take(4, wait=SOON) as first:
            pass
        with inbox.take(4, wait=SOON) as second:
            pass

    assert (len(first), len(second)) == (6, 3)


def test_an_empty_queue_offers_nothing_after_the_wait(broker: RabbitMQBroker) -> None:
    with closing(broker.subscribe(["tidy"], prefetch=1)) as inbox:
        start = time.monotonic()
        with inbox.take(1, wait=timedelta(seconds=0.2)) as ids:
            assert ids == []

    assert 0.2 <= time.monotonic() - start < 1


def test_what_was_taken_comes_back_after_an_error_inside_the_block(broker: RabbitMQBroker) -> None:
    sent = message(ids=2)
    broker.publish([sent])
    with closing(broker.subscribe(["tidy"], prefetch=1)) as inbox:
        with pytest.raises(ZeroDivisionError), inbox.take(2, wait=SOON) as first:
            raise ZeroDivisionError

        assert first == receive(inbox, 2) == list(sent.executions)


def test_acknowledging_out_of_turn_settles_only_what_was_taken(broker: RabbitMQBroker) -> None:
    low, high = message("tidy", priority=LOW), message("tidy", priority=HIGH)
    with closing(broker.subscribe(["tidy"], prefetch=10)) as inbox:
        broker.publish([low])
        assert eventually(lambda: broker.depth("tidy") == 0)
        broker.publish([high])
        assert eventually(lambda: broker.depth("tidy") == 0)
        time.sleep(0.1)  # for the last delivery to cross from the broker to us
        with inbox.take(1, wait=SOON) as ids:
            assert ids == list(high.executions)

    assert broker.depth("tidy") == 1


@pytest.mark.parametrize(
    "unreadable",
    [
        b"\xff not JSON",
        b"[" * 100_000,
        b"[1]",
        b'{"v": 2, "task": "tidy", "executions": ["0198c0de-0000-8000-8000-000000000000"]}',
        b'{"v": 1, "task": "tidy", "executions": []}',
        b'{"v": 1, "executions": ["0198c0de-0000-8000-8000-000000000000"]}',
        b'{"v": 1, "task": "tidy", "executions": ["everything"]}',
        b'{"v": 1, "task": "tidy", "executions": [7]}',
    ],
    ids=["bytes", "depth", "list", "version", "empty", "taskless", "no-uuid", "number"],
)
def test_an_unreadable_message_is_parked_and_later_ones_still_arrive(
    unreadable: bytes, broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    broker.publish([message()])
    channel.basic_publish(topology.exchange, "tidy", unreadable)
    broker.publish([message()])

    with closing(broker.subscribe(["tidy"], prefetch=1)) as inbox:
        assert len(receive(inbox, 2)) == 2
        assert eventually(lambda: broker.dead_letters() == 1)

    assert channel.basic_get(topology.dead_letter_queue, auto_ack=True)[2] == unreadable


def test_a_deleted_queue_is_made_again_and_received_from(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    with closing(broker.subscribe(TASKS, prefetch=5)) as inbox:
        broker.publish([message()])
        receive(inbox, 1)

        channel.queue_delete(topology.queue("tidy"))
        sent = message()

        assert eventually(lambda: broker.publish([sent]) == [sent])
        assert receive(inbox, 1) == list(sent.executions)


def test_what_was_taken_from_a_deleted_queue_can_still_be_settled(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    with closing(broker.subscribe(["tidy"], prefetch=5)) as inbox:
        broker.publish([message()])
        with inbox.take(1, wait=SOON) as ids:
            channel.queue_delete(topology.queue("tidy"))
        sent = message()

        assert len(ids) == 1
        assert eventually(lambda: broker.publish([sent]) == [sent])
        assert receive(inbox, 1) == list(sent.executions)


def test_closing_gives_back_what_was_not_acknowledged(broker: RabbitMQBroker) -> None:
    broker.publish([message(), message(), message()])
    inbox = broker.subscribe(["tidy"], prefetch=10)
    assert eventually(lambda: broker.depth("tidy") == 0)

    inbox.close()
    inbox.close()

    assert eventually(lambda: broker.depth("tidy") == 3)
    with pytest.raises(BrokerUnavailable, match="closed"), inbox.take(1, wait=AT_ONCE):
        pass


def test_a_queue_with_other_arguments_is_reported_with_what_differs_and_what_to_do(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    queue = topology.queue("tidy")
    arguments = {"x-max-priority": 5, "x-dead-letter-exchange": topology.dead_letter_exchange}
    channel.queue_declare(queue, durable=True, arguments=arguments)
    expected = (
        f"queue '{queue}' exists with x-max-priority 5, we need 10: stop executors, delete the queue "
        rf"\(rabbitmqctl delete_queue {queue}\) and start again; executions are re-sent from the database"
    )

    with pytest.raises(TopologyMismatch, match=expected):
        broker.publish([message()])
    with (
        closing(broker.subscribe(["tidy"], prefetch=1)) as inbox,
        pytest.raises(TopologyMismatch, match=expected),
        inbox.take(1, wait=AT_ONCE),
    ):
        pass


def test_an_inbox_receives_once_a_person_has_settled_the_mismatch(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    channel.queue_declare(topology.queue("tidy"), durable=True)
    with closing(broker.subscribe(["tidy"], prefetch=1)) as inbox:
        with pytest.raises(TopologyMismatch, match="exists with x-dead-letter-exchange none, we need"):
            inbox.take(1, wait=AT_ONCE).__enter__()

        channel.queue_delete(topology.queue("tidy"))
        sent = message()

        assert broker.publish([sent]) == [sent]
        assert eventually(lambda: not _raises(inbox))
        assert broker.depth("tidy") == 0


def _raises(inbox: Inbox) -> bool:
    try:
        with inbox.take(1, wait=AT_ONCE):
            return False
    except TopologyMismatch:
        return True


def test_resting_gives_back_what_waits_over_the_same_connection(broker: RabbitMQBroker) -> None:
    sent = [message() for _ in range(4)]
    broker.publish(sent)
    with closing(broker.subscribe(["tidy"], prefetch=10)) as inbox:
        assert eventually(lambda: broker.depth("tidy") == 0)
        connection = inbox._link._connection

        inbox.rest()

        assert eventually(lambda: broker.depth("tidy") == 4)
        assert len(receive(inbox, 4)) == 4
        assert inbox._link._connection is connection
