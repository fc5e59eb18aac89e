"""RabbitMQ behind the broker port: confirmed publishing, and one inbox for each subscriber."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from execution.broker.base import Broker, Bundle, Inbox, Message, alone
from execution.broker.rabbitmq import errands, inspection
from execution.broker.rabbitmq.dead_letters import DeadLetters
from execution.broker.rabbitmq.inbox import RabbitMQInbox
from execution.broker.rabbitmq.publisher import Publisher
from execution.broker.rabbitmq.topology import Topology


class RabbitMQBroker(Broker):
    """Connects at first use, and declares what it needs when it first needs it.

    `publish`, `bury` and `take` also raise TopologyMismatch while a queue exists with other
    arguments than ours. Inboxes have a connection each, and are closed by whoever subscribed.
    """

    def __init__(self, url: str, *, prefix: str = "", queue_type: str = "") -> None:
        self._url = url
        self._topology = Topology(prefix, queue_type)
        self._publisher = Publisher(url, self._topology)
        self._dead_letters = DeadLetters(url, self._topology, self._publisher)

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        return self._publisher.publish(messages)

    def subscribe(self, tasks: Collection[str], *, prefetch: int, bundle: Bundle = alone) -> Inbox:
        return RabbitMQInbox(self._url, self._topology, tasks, prefetch=prefetch)

    def bury(self, messages: Sequence[Message]) -> list[Message]:
        return self._publisher.bury(messages)

    def unbury(self, executions: Collection[UUID]) -> int:
        return self._dead_letters.remove(executions)

    def buried(self, limit: int) -> list[UUID]:
        return self._dead_letters.named(limit)

    def depth(self, task: str) -> int:
        return errands.count(self._publisher.link, self._topology.queue(task))

    def dead_letters(self) -> int:
        """Those in the hands of somebody who goes through them are missing from the count until put back."""
        return errands.count(self._publisher.link, self._topology.dead_letter_queue)

    def mismatches(self, tasks: Collection[str]) -> list[str]:
        parts = [*self._topology.foundation(), *(part for task in tasks for part in self._topology.for_task(task))]
        found = (inspection.mismatch(self._publisher.link, part) for part in parts)
        return [told for told in found if told]

    def version(self) -> str:
        return inspection.version(self._publisher.link)

    def alarm(self) -> str:
        return inspection.alarm(self._url)

    def ping(self) -> None:
        errands.run(self._publisher.link, lambda channel, done: done(None))

    def close(self) -> None:
        self._dead_letters.close()
        self._publisher.link.close()
