"""The broker in use, chosen by `AMQP_URL`."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from execution.broker.base import Broker, BrokerError, BrokerUnavailable, Inbox, Message, TopologyMismatch

__all__ = ["Broker", "BrokerError", "BrokerUnavailable", "Inbox", "Message", "TopologyMismatch", "get_broker"]


@cache
def get_broker() -> Broker:
    if settings.AMQP_URL:
        from execution.broker.rabbitmq import RabbitMQBroker

        rabbitmq = RabbitMQBroker(
            settings.AMQP_URL, prefix=settings.NAME_PREFIX, queue_type=settings.RABBITMQ_QUEUE_TYPE
        )
        return _with_kept(rabbitmq) if settings.REMOTE_TASKS else rabbitmq
    from execution.broker.database import DatabaseBroker

    return DatabaseBroker()


def _with_kept(carrier: Broker) -> Broker:
    """Tasks whose workers ask over HTTP are kept from RabbitMQ."""
    from execution.broker.database import DatabaseBroker
    from execution.broker.split import SplitBroker
    from execution.registry import registry
    from execution.remote import tasks_over_http

    kept = tasks_over_http(registry)
    return SplitBroker(carrier, DatabaseBroker(), kept) if kept else carrier
