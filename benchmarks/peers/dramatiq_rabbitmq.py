"""Dramatiq on RabbitMQ, with the middleware that it has by default."""

from __future__ import annotations

import os

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker

from benchmarks.peers.inside import NAME, note

# Tried on two cores, thousands of tasks a second at the better of the two figures of `run`: with 8 threads, a prefetch
# of 16 (the default) 3.0, of 256 5.2 and 5.4, of 1000 5.8 and 7.6; with 4 threads and 256 4.3; with 2 threads and the
# default 2.5. The same settings differ by a third from run to run, so 256 and 1000 are not told apart by this.
os.environ.update(dramatiq_queue_prefetch="1000")  # messages a process; the worker takes it from the environment only
WORKER = ("dramatiq", "benchmarks.peers.dramatiq_rabbitmq", "--processes", "2", "--threads", "8")

broker = RabbitmqBroker(url=os.environ["AMQP_URL"])
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name=os.environ[NAME])
def nothing() -> None:
    note()


def enqueue(count: int) -> None:
    for _ in range(count):
        nothing.send()
