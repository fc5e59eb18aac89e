"""A network and a broker that fail."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from datetime import timedelta

import pika
import pytest
from django.conf import settings

from execution.broker.base import BrokerUnavailable
from execution.broker.rabbitmq import RabbitMQBroker, publisher
from execution.broker.rabbitmq.topology import Topology
from tests.cable import Cable
from tests.engine.rabbitmq.mail import (
    SOON,
    comes,
    eventually,
    message,
    persistently,
    receive,
)

AMQP_URL = settings.AMQP_URL
pytestmark = pytest.mark.skipif(not AMQP_URL, reason="this mode has no RabbitMQ")


def test_an_inbox_receives_again_after_its_connection_was_cut(
    broker: RabbitMQBroker, far_broker: RabbitMQBroker, cable: Cable
) -> None:
    with closing(far_broker.subscribe(["tidy"], prefetch=5)) as inbox:
        broker.publish([message()])
        receive(inbox, 1)

        cable.cut()
        sent = message()
        broker.publish([sent])

        assert comes(inbox, sent)


def test_what_was_taken_before_a_cut_is_not_acknowledged_on_the_next_connection(
    broker: RabbitMQBroker, far_broker: RabbitMQBroker, cable: Cable
) -> None:
    sent = [message() for _ in range(6)]
    broker.publish(sent)
    everything = {id for each in sent for id in each.executions}
    with closing(far_broker.subscribe(["tidy"], prefetch=5)) as inbox:
        with inbox.take(1, wait=SOON):
            cable.cut()
            assert eventually(lambda: broker.depth("tidy") == 6)
            assert eventually(lambda: broker.depth("tidy") == 1)  # the inbox is back, and holds five again

        assert set(receive(inbox, 6)) == everything


def test_taking_during_an_outage_waits_first_and_then_says_why(far_broker: RabbitMQBroker, cable: Cable) -> None:
    with closing(far_broker.subscribe(["tidy"], prefetch=5)) as inbox:
        cable.unplug()
        start = time.monotonic()

        with (
            pytest.raises(BrokerUnavailable, match="out of reach"),
            inbox.take(1, wait=timedelta(seconds=0.3)),
        ):
            pass

    assert 0.3 <= time.monotonic() - start < 2


def test_an_inbox_made_during_an_outage_receives_when_the_broker_is_back(
    broker: RabbitMQBroker, far_broker: RabbitMQBroker, cable: Cable
) -> None:
    cable.unplug()
    with closing(far_broker.subscribe(["tidy"], prefetch=5)) as inbox:
        sent = message()
        broker.publish([sent])

        cable.mend()

        assert receive(inbox, 1) == list(sent.executions)


def test_publishing_works_again_after_a_cut(far_broker: RabbitMQBroker, cable: Cable) -> None:
    far_broker.publish([message()])
    sent = message()

    cable.cut()

    assert persistently(lambda: far_broker.publish([sent])) == [sent]


def test_publishing_during_an_outage_fails_quickly_with_the_reason(far_broker: RabbitMQBroker, cable: Cable) -> None:
    far_broker.publish([message()])
    cable.unplug()
    start = time.monotonic()

    for _ in range(20):
        with pytest.raises(BrokerUnavailable, match=f"127.0.0.1:{cable.port} is out of reach: .+"):
            far_broker.publish([message()])

    assert time.monotonic() - start < 2
    cable.mend()
    sent = message()
    assert persistently(lambda: far_broker.publish([sent])) == [sent]


def test_a_broker_that_stops_answering_is_given_up_on(
    far_broker: RabbitMQBroker, cable: Cable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "CONFIRM_TIMEOUT", 0.3)
    far_broker.publish([message()])
    cable.freeze()
    start = time.monotonic()

    with pytest.raises(BrokerUnavailable, match=r"no answer within 0\.3 s"):
        far_broker.publish([message()])

    assert time.monotonic() - start < 1
    cable.thaw()
    sent = message()
    assert persistently(lambda: far_broker.publish([sent])) == [sent]


def test_a_wrong_password_is_told_as_such(topology: Topology) -> None:
    params = pika.URLParameters(AMQP_URL)
    stranger = RabbitMQBroker(f"amqp://nobody:x@{params.host}:{params.port}/%2F")

    with closing(stranger), pytest.raises(BrokerUnavailable, match="ACCESS_REFUSED"):
        stranger.ping()


def test_a_broker_can_be_used_after_closing_it(broker: RabbitMQBroker) -> None:
    broker.publish([message()])

    broker.close()
    broker.close()

    assert broker.depth("tidy") == 1


def test_closing_leaves_no_thread_behind(broker: RabbitMQBroker) -> None:
    before = set(threading.enumerate())
    inbox = broker.subscribe(["tidy"], prefetch=1)
    broker.ping()

    inbox.close()
    broker.close()

    assert set(threading.enumerate()) <= before


def test_a_forked_process_makes_a_connection_of_its_own(broker: RabbitMQBroker) -> None:
    broker.publish([message()])

    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 1 - len(broker.publish([message()]))
        finally:
            os._exit(code)

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert broker.publish([message()])
    assert broker.depth("tidy") == 3


def test_a_fault_on_the_thread_of_a_link_costs_a_connection_and_not_the_thread(
    broker: RabbitMQBroker,
) -> None:
    broker.publish([message()])
    sent = message()

    broker._publisher.link.post(lambda: 1 / 0)

    assert persistently(lambda: broker.publish([sent])) == [sent]
