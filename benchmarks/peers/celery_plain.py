"""Celery on RabbitMQ, keeping no results: what it does when nobody asks afterwards."""

from __future__ import annotations

import os

from celery import Celery

from benchmarks.peers.inside import NAME, note

# Two of these are started. Tried on two cores, thousands of tasks a second at the better of the two figures of `run`:
# two solo workers 2.9, 3.2, 3.4 and 3.8; two with 4 threads each 2.6 and 3.5, with 8 threads 3.2; two prefork workers
# of 2 processes 1.6; one prefork worker of 4 processes 1.9, of 2 processes 1.4. Solo with a prefetch of 256: 3.0.
WORKER = (
    *("celery", "-A", "benchmarks.peers.celery_plain", "worker", "--loglevel", "ERROR"),
    *("--hostname", f"worker{os.getpid()}@%h"),  # two by the same name would complain
    *("--pool", "solo"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)

# What is not set here is as by default: messages are persistent, their publishing is not confirmed, and they are
# acknowledged before the task runs.
app = Celery("peer", broker=os.environ["AMQP_URL"])
app.conf.update(
    task_default_queue=os.environ[NAME],
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="nothing")
def nothing() -> None:
    note()


def enqueue(count: int) -> None:
    # One producer for all: without it, each call takes one from the pool and gives it back.
    with app.producer_or_acquire() as producer:
        for _ in range(count):
            nothing.apply_async(producer=producer)
