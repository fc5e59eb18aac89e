"""The dead letters gone through in RabbitMQ: some taken out, the rest left as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from threading import Thread
from uuid import uuid4

import pytest
from django.conf import settings
from pika.adapters.blocking_connection import BlockingChannel

from execution.broker.base import BrokerUnavailable, Message
from execution.broker.rabbitmq import RabbitMQBroker, dead_letters, passes
from execution.broker.rabbitmq.topology import Topology
from tests.cable import Cable
from tests.engine.rabbitmq.mail import eventually, message

AMQP_URL = settings.AMQP_URL
pytestmark = pytest.mark.skipif(not AMQP_URL, reason="this mode has no RabbitMQ")

UNREADABLE = b'{"v": 2, "task": "tidy", "executions": ["0198c0de-0000-8000-8000-000000000000"]}'


def bury(broker: RabbitMQBroker, count: int) -> list[Message]:
    messages = [message() for _ in range(count)]
    assert broker.bury(messages) == messages
    return messages


def ids(messages: list[Message]) -> list:
    return [one for each in messages for one in each.executions]


def test_the_rest_stays_in_its_order(broker: RabbitMQBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "HELD", 7)  # so that several channels take part
    dead = ids(bury(broker, 50))

    assert broker.unbury(dead[::3]) == 17

    rest = [one for place, one in enumerate(dead) if place % 3]
    assert broker.dead_letters() == 33
    assert broker.buried(100) == rest


@pytest.mark.parametrize("held", [1, 7, 50])
def test_everything_can_be_taken_out_and_nothing_too(
    broker: RabbitMQBroker, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "HELD", held)
    dead = ids(bury(broker, 50))

    assert broker.unbury([uuid4()]) == 0
    assert broker.dead_letters() == 50
    assert broker.unbury(dead) == 50
    assert broker.dead_letters() == 0
    assert broker.unbury(dead) == 0


def test_what_was_sent_to_us_in_vain_is_back_when_a_pass_ends_early(broker: RabbitMQBroker) -> None:
    dead = ids(bury(broker, 3_000))

    for gone in range(1, 20):
        assert broker.unbury(dead[gone - 1 : gone]) == 1
        assert broker.dead_letters() == 3_000 - gone
        assert broker.buried(1) == dead[gone : gone + 1]

    assert broker.buried(3_000) == dead[19:]


def test_where_nothing_was_ever_buried_there_is_nothing(broker: RabbitMQBroker) -> None:
    assert broker.unbury([uuid4()]) == 0
    assert broker.buried(10) == []


def test_of_two_messages_the_older_goes(broker: RabbitMQBroker) -> None:
    [twice], [other] = bury(broker, 1), bury(broker, 1)
    broker.bury([twice])

    assert broker.unbury(twice.executions) == 1
    assert broker.buried(10) == [*other.executions, *twice.executions]
    assert broker.unbury([*twice.executions, *other.executions, *twice.executions]) == 2


def test_dead_letters_nobody_can_read_stay(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    dead = ids(bury(broker, 2))
    channel.basic_publish(topology.dead_letter_exchange, "tidy", UNREADABLE)
    channel.basic_publish(topology.dead_letter_exchange, "tidy", b"\xff")
    assert eventually(lambda: broker.dead_letters() == 4)

    assert broker.buried(10) == dead
    assert broker.unbury(dead) == 2

    assert broker.dead_letters() == 2
    assert [channel.basic_get(topology.dead_letter_queue)[2] for _ in range(2)] == [UNREADABLE, b"\xff"]


def test_a_message_that_names_others_too_is_replaced_by_one_for_those(broker: RabbitMQBroker) -> None:
    shared, alone = message(ids=3, priority=9), message()
    broker.bury([shared, alone])
    first, second, third = shared.executions

    assert broker.unbury([second, *alone.executions]) == 1

    assert broker.dead_letters() == 1
    assert broker.buried(10) == [first, third]
    assert broker.unbury([first, third]) == 1


def test_a_message_whose_replacement_was_not_taken_stays_whole(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel
) -> None:
    shared = message(ids=2)
    broker.bury([shared])
    channel.queue_unbind(topology.dead_letter_queue, topology.dead_letter_exchange, routing_key="")

    assert broker.unbury(shared.executions[:1]) == 0
    assert broker.buried(10) == list(shared.executions)


def test_several_at_once_take_out_what_each_is_after(broker: RabbitMQBroker, far_broker: RabbitMQBroker) -> None:
    dead = ids(bury(broker, 2_000))
    counts: dict[int, int] = {}

    def take_out(place: int, through: RabbitMQBroker) -> None:
        counts[place] = through.unbury(dead[place::5])

    threads = [
        Thread(target=take_out, args=[place, through])
        for place, through in enumerate([broker, far_broker, broker, far_broker])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == dict.fromkeys(range(4), 400)
    assert broker.buried(10_000) == dead[4::5]


def test_a_rival_that_never_ends_is_told_of(
    broker: RabbitMQBroker, topology: Topology, channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "RIVAL_PATIENCE", 0.2)
    dead = ids(bury(broker, 1))
    channel.queue_declare(topology.dead_letter_reader, exclusive=True)

    with pytest.raises(BrokerUnavailable, match="Somebody else goes through the dead letters"):
        broker.unbury(dead)

    channel.queue_delete(topology.dead_letter_reader)
    assert broker.unbury(dead) == 1


def test_a_broker_out_of_reach_is_told_and_nothing_is_lost(
    broker: RabbitMQBroker, far_broker: RabbitMQBroker, cable: Cable
) -> None:
    dead = ids(bury(broker, 3))
    cable.unplug()

    with pytest.raises(BrokerUnavailable):
        far_broker.unbury(dead)

    assert broker.buried(10) == dead


DIES_MIDWAY = """
import sys
from uuid import UUID
from execution.broker.rabbitmq import RabbitMQBroker, passes
read, seen = passes.Removal.read, []

def read_and_stop(self, *args):
    seen.append(args)
    if len(seen) == 60:
        print("halfway", flush=True)
        sys.stdin.read()
    return read(self, *args)

passes.Removal.read = read_and_stop
passes.HELD = 10
RabbitMQBroker(sys.argv[1], prefix=sys.argv[2]).unbury([UUID(one) for one in sys.argv[3:]])
"""


def test_who_is_killed_midway_has_lost_nothing(broker: RabbitMQBroker, topology: Topology) -> None:
    dead = ids(bury(broker, 100))
    meant = dead[::2]
    child = subprocess.Popen(
        [sys.executable, "-c", DIES_MIDWAY, AMQP_URL, topology.prefix, *map(str, meant)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert b"halfway\n" in iter(child.stdout.readline, b"")

    child.send_signal(signal.SIGKILL)
    child.communicate()

    kept = [one for one in dead if one not in meant]
    assert eventually(lambda: broker.dead_letters() >= len(kept))
    assert [one for one in broker.buried(1_000) if one in kept] == kept
    broker.unbury(meant)
    assert broker.buried(1_000) == kept


def test_publishing_goes_on_meanwhile_and_ten_thousand_take_seconds(broker: RabbitMQBroker) -> None:
    dead = ids(bury(broker, 10_000))
    broker.publish([message()])
    counted: list[int] = []
    thread = Thread(target=lambda: counted.append(broker.unbury(dead[::2])))

    start = time.monotonic()
    thread.start()
    slowest = 0.0
    while thread.is_alive():
        before = time.monotonic()
        assert broker.publish([message()])
        slowest = max(slowest, time.monotonic() - before)
    took = time.monotonic() - start

    assert counted == [5_000] and broker.dead_letters() == 5_000
    assert took < 20 and slowest < 2  # a quiet machine needs one second, and a twentieth
