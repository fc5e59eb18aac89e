"""The adapter against a real broker, under names of the test's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from uuid import uuid4

import pika
import pytest
from django.conf import settings
from pika.adapters.blocking_connection import BlockingChannel

from execution.broker.rabbitmq import RabbitMQBroker
from execution.broker.rabbitmq.topology import Topology
from tests.cable import Cable
from tests.engine.rabbitmq.mail import TASKS, rungs_used

AMQP_URL = settings.AMQP_URL


@pytest.fixture(scope="module")
def connection() -> Iterator[pika.BlockingConnection]:
    """A plain connection, to look behind the adapter's back."""
    params = pika.URLParameters(AMQP_URL)
    params.socket_timeout = params.stack_timeout = 3
    with closing(pika.BlockingConnection(params)) as made:
        yield made


@pytest.fixture
def channel(connection: pika.BlockingConnection) -> BlockingChannel:
    return connection.channel()


@pytest.fixture
def topology(connection: pika.BlockingConnection) -> Iterator[Topology]:
    """Names of this test alone; all of them are deleted afterwards."""
    topology = Topology(prefix=f"t{os.getpid()}.{uuid4().hex[:6]}.")
    yield topology
    cleaner = connection.channel()
    retries = [topology.retry(milliseconds) for milliseconds in rungs_used]
    for queue in [*map(topology.queue, [*TASKS, "late"]), topology.dead_letter_queue, *retries]:
        cleaner.queue_delete(queue)
    for exchange in [topology.exchange, topology.dead_letter_exchange, *retries]:
        cleaner.exchange_delete(exchange)
    cleaner.close()


@pytest.fixture
def broker(topology: Topology) -> Iterator[RabbitMQBroker]:
    broker = RabbitMQBroker(AMQP_URL, prefix=topology.prefix)
    yield broker
    broker.close()


@pytest.fixture
def cable(connection: pika.BlockingConnection) -> Iterator[Cable]:
    params = pika.URLParameters(AMQP_URL)
    cable = Cable(params.host, params.port)
    yield cable
    cable.thaw()
    with suppress(OSError):
        cable.unplug()


@pytest.fixture
def far_broker(topology: Topology, cable: Cable) -> Iterator[RabbitMQBroker]:
    """The same broker at the other end of the cable."""
    params = pika.URLParameters(AMQP_URL)
    url = AMQP_URL.replace(f"{params.host}:{params.port}", f"127.0.0.1:{cable.port}")
    broker = RabbitMQBroker(url, prefix=topology.prefix)
    yield broker
    broker.close()


@pytest.fixture(autouse=True)
def empty_servers() -> None:
    """Nothing to empty: no database is used, and names are each test's own."""
