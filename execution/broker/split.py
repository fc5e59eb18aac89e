"""The broker where some tasks are run by workers that ask over HTTP, and RabbitMQ carries all others.

Executions of the former wait in the database, where such workers look: a message for each would have nobody to take
it. Their dead letters lie with all the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from execution.broker.base import Broker, Bundle, Inbox, Message, alone


class SplitBroker(Broker):
    """`kept` are the tasks that `database` has; all others are `carrier`'s."""

    def __init__(self, carrier: Broker, database: Broker, kept: Collection[str]) -> None:
        self.carrier = carrier
        self.database = database
        self.kept = frozenset(kept)

    def carries(self, task: str) -> bool:
        return task not in self.kept

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        carried = [message for message in messages if message.task not in self.kept]
        if len(carried) == len(messages):
            return self.carrier.publish(carried)
        # Those that are kept are where they should be, whatever becomes of the others.
        taken = self.database.publish([message for message in messages if message.task in self.kept])
        return taken + self.carrier.publish(carried) if carried else taken

    def subscribe(self, tasks: Collection[str], *, prefetch: int, bundle: Bundle = alone) -> Inbox:
        return self.carrier.subscribe(tasks, prefetch=prefetch, bundle=bundle)

    def bury(self, messages: Sequence[Message]) -> list[Message]:
        return self.carrier.bury(messages)

    def unbury(self, executions: Collection[UUID]) -> int:
        return self.carrier.unbury(executions)

    def buried(self, limit: int) -> list[UUID]:
        return self.carrier.buried(limit)

    def depth(self, task: str) -> int:
        return (self.database if task in self.kept else self.carrier).depth(task)

    def dead_letters(self) -> int:
        return self.carrier.dead_letters()

    def mismatches(self, tasks: Collection[str]) -> list[str]:
        return self.carrier.mismatches([task for task in tasks if task not in self.kept])

    def version(self) -> str:
        return self.carrier.version()

    def alarm(self) -> str:
        return self.carrier.alarm()

    def ping(self) -> None:
        self.carrier.ping()

    def close(self) -> None:
        self.carrier.close()
