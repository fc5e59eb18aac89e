"""Goes through the dead letters: RabbitMQ cannot take out a message by what it says.

Who goes through the queue holds its messages, and a second reader would miss them. So there is
one at a time: a rival in another process finds the reader's queue taken, and tries again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import Any
from uuid import UUID

from execution.broker.rabbitmq import errands
from execution.broker.rabbitmq.confirms import Letter
from execution.broker.rabbitmq.connection import Link
from execution.broker.rabbitmq.parameters import ANSWER_TIMEOUT
from execution.broker.rabbitmq.passes import InUse, Listing, Pass, Removal
from execution.broker.rabbitmq.publisher import Publisher
from execution.broker.rabbitmq.refusals import NotThere
from execution.broker.rabbitmq.topology import Topology

RIVAL_PATIENCE = 10.0  # s to wait for others who go through the dead letters
LOOK_AGAIN = 0.05  # s between tries to be the next, on average
SLOWEST = 0.001  # s a message; a pass that takes longer has lost its broker


class DeadLetters:
    """Shared by threads. Connects at first use."""

    def __init__(self, url: str, topology: Topology, publisher: Publisher) -> None:
        self._link = Link(url, name="punctual dead letters")
        self._topology = topology
        self._publisher = publisher
        self._turn = Lock()  # among our own threads; RabbitMQ tells connections apart, not threads

    def remove(self, executions: Collection[UUID]) -> int:
        """Take out the oldest message of each execution; return how many messages are gone.

        A message that names others too is replaced by one for those, and not counted.
        """
        if not executions:
            return 0
        return self._go_through(lambda: Removal(self._topology, executions, self._replace)) or 0

    def named(self, limit: int) -> list[UUID]:
        """The executions that about `limit` messages name, oldest first."""
        return self._go_through(lambda: Listing(self._topology, limit)) or []

    def close(self) -> None:
        self._link.close()

    def _go_through(self, make: Callable[[], Pass]) -> Any:
        """What the pass found; None where there is no queue."""
        deadline = time.monotonic() + RIVAL_PATIENCE
        if not self._turn.acquire(timeout=RIVAL_PATIENCE):
            raise InUse("Others in this process go through the dead letters. Try again later.")
        try:
            while True:
                timeout = ANSWER_TIMEOUT + SLOWEST * errands.count(self._link, self._topology.dead_letter_queue)
                try:
                    return self._link.ask(make().start, timeout=timeout)
                except NotThere:
                    return None
                except InUse:
                    if time.monotonic() > deadline:
                        raise
                time.sleep(LOOK_AGAIN * random.uniform(0.5, 1.5))
        finally:
            self._turn.release()

    def _replace(self, letters: list[Letter], then: Callable[[list[bool]], None]) -> None:
        """Publish without waiting, since this is the link's thread; `then` is called on it as well."""

        def sent(future: Future[list[bool]]) -> None:
            taken = [False] * len(letters) if future.exception() else future.result()
            self._link.post(partial(then, taken))

        self._publisher.begin(letters).add_done_callback(sent)
