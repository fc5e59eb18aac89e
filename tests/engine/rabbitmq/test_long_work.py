"""Work that takes longer than the broker's consumer timeout: its message was acknowledged at the claim.

`LONG_WORK=180 BROKER_PATIENCE=60` makes it as long as in real life; by default it takes seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pika
import pytest
from django.conf import settings

from execution.broker.rabbitmq import RabbitMQBroker
from execution.broker.rabbitmq.topology import Topology
from jobs.states import Status
from tests.engine.system import System
from tests.servers import probe
from tests.servers.kinds import Kind
from tests.servers.private import PrivateRabbitMQ

WORK = float(os.environ.get("LONG_WORK", 8))  # seconds
PATIENCE = float(os.environ.get("BROKER_PATIENCE", 2))  # seconds
QUORUM_ONLY = (4, 3)  # the version from which on classic queues, as ours are, have no consumer timeout

pytestmark = [
    pytest.mark.skipif(not settings.AMQP_URL, reason="this mode has no RabbitMQ"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(WORK + 120),
]


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateRabbitMQ]:
    milliseconds = int(PATIENCE * 1000)
    with PrivateRabbitMQ(consumer_timeout=milliseconds, channel_tick_interval=milliseconds // 2) as server:
        yield server


@pytest.fixture
def broker(server: PrivateRabbitMQ, monkeypatch) -> Iterator[RabbitMQBroker]:
    broker = RabbitMQBroker(server.url, prefix=settings.NAME_PREFIX)
    monkeypatch.setattr("execution.processes.get_broker", lambda: broker)
    yield broker
    broker.close()


def test_work_longer_than_the_brokers_patience_runs_once(broker, new_job, recorder) -> None:
    recorder.act = lambda payload, run: time.sleep(WORK)
    system = System()
    job = new_job()

    deadline = time.monotonic() + WORK + 30
    while not job.executions.filter(status=Status.COMPLETED) and time.monotonic() < deadline:
        system.poller.tick()
        system.recoverer.tick()
        system.executor.tick()
    after = new_job()
    recorder.act = None
    system.run_until(lambda: after.executions.filter(status=Status.COMPLETED))
    system.stop()

    execution = job.executions.get()
    assert execution.status == Status.COMPLETED and execution.attempt == 1
    assert (execution.finished_at - execution.started_at).total_seconds() >= WORK
    assert len(recorder.runs) == 2


def test_the_timeout_applies_to_our_queues(server, broker, new_job, recorder) -> None:
    """The same broker takes the message from a consumer that acknowledges when the work is done."""
    if _version(server) >= QUORUM_ONLY:
        pytest.skip("classic queues have no consumer timeout from RabbitMQ 4.3 on")
    new_job()
    System().poller.tick()
    assert _is_taken_back(server, Topology(settings.NAME_PREFIX).queue("record"))


def test_the_timeout_applies_to_quorum_queues(server) -> None:
    """RabbitMQ up to 4.2 closes the channel, and from 4.3 on cancels the consumer."""
    with pika.BlockingConnection(pika.URLParameters(server.url)) as connection:
        channel = connection.channel()
        channel.queue_declare("quorum", durable=True, arguments={"x-queue-type": "quorum"})
        channel.confirm_delivery()
        channel.basic_publish("", "quorum", b"work", mandatory=True)
    assert _is_taken_back(server, "quorum")


def _version(server: PrivateRabbitMQ) -> tuple[int, ...]:
    _, _, version = probe.version(Kind.RABBITMQ, server.url).partition(" ")
    return tuple(int(number) for number in version.split(".")[:2])


def _is_taken_back(server: PrivateRabbitMQ, queue: str) -> bool:
    """Whether a message goes to another consumer while the first one keeps it, and its connection."""
    with pika.BlockingConnection(pika.URLParameters(server.url)) as connection:
        working, other = connection.channel(), connection.channel()
        [(method, _, _)] = [next(working.consume(queue, inactivity_timeout=10))]
        assert method is not None

        again = None
        deadline = time.monotonic() + PATIENCE * 5 + 20
        while again is None and time.monotonic() < deadline:
            connection.sleep(0.1)
            again, _, _ = other.basic_get(queue)
        return again is not None and again.redelivered
