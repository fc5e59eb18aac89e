"""Wipes what carries one prefix on a shared Redis or RabbitMQ: our own names, and no others."""

from __future__ import annotations

from collections.abc import Collection

import pika
import pika.exceptions
import redis

from execution.broker.rabbitmq.topology import LADDER, Topology


def wipe_redis(url: str, prefix: str) -> None:
    client = redis.Redis.from_url(url)
    for key in client.scan_iter(match=f"{prefix}*"):
        client.delete(key)
    client.close()


def empty_queues(url: str, prefix: str, tasks: Collection[str]) -> None:
    """Purge the tasks' queues and the dead letters; those not declared yet are empty anyway."""
    topology = Topology(prefix)
    connection = pika.BlockingConnection(pika.URLParameters(url))
    for queue in [*map(topology.queue, tasks), topology.dead_letter_queue]:
        try:
            connection.channel().queue_purge(queue)
        except pika.exceptions.ChannelClosedByBroker:
            continue
    connection.close()


def delete_queues(url: str, prefix: str, tasks: Collection[str]) -> None:
    """Leave no queue and no exchange behind."""
    topology = Topology(prefix)
    rungs = [topology.retry(milliseconds) for milliseconds in LADDER]
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    for queue in [*map(topology.queue, tasks), topology.dead_letter_queue, *rungs]:
        channel.queue_delete(queue)
    for exchange in [topology.exchange, topology.dead_letter_exchange, *rungs]:
        channel.exchange_delete(exchange)
    connection.close()
