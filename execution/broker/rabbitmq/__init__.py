"""Carries executions over RabbitMQ. The only package that knows pika."""

from execution.broker.rabbitmq.broker import RabbitMQBroker

__all__ = ["RabbitMQBroker"]
