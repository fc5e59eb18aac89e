"""A broker that is killed and comes back: only ever one that the test started itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from django.conf import settings

from execution.broker.rabbitmq import RabbitMQBroker
from tests.engine.rabbitmq.mail import message, persistently, receive
from tests.servers.private import PrivateRabbitMQ
from tests.servers.private.ports import is_open

pytestmark = pytest.mark.skipif(not settings.AMQP_URL, reason="this mode has no RabbitMQ")


@pytest.fixture
def server() -> Iterator[PrivateRabbitMQ]:
    with PrivateRabbitMQ() as server:
        yield server


def test_confirmed_messages_and_delays_survive_a_killed_broker(server: PrivateRabbitMQ) -> None:
    broker = RabbitMQBroker(server.url)
    waiting, delayed = message(), message(delay=timedelta(seconds=12))
    assert broker.publish([waiting, delayed]) == [waiting, delayed]
    due = time.monotonic() + 12

    server.kill()
    assert not is_open(server.port)
    server.start()

    with closing(broker.subscribe(["tidy"], prefetch=5)) as inbox:
        assert receive(inbox, 1, within=20) == [*waiting.executions]
        assert receive(inbox, 1, within=20) == [*delayed.executions]
        assert -0.1 <= time.monotonic() - due <= 12 * 0.1 + 0.2
    assert persistently(lambda: broker.publish([waiting])) == [waiting]
    broker.close()
