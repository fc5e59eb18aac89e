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

        return RabbitMQBroker(settings.AMQP_URL, prefix=settings.NAME_PREFIX)
    from execution.broker.database import DatabaseBroker

    return DatabaseBroker()
