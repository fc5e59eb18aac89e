"""What one executor receives from RabbitMQ, over a connection of its own.

The link's thread keeps the consumers going and fills a heap; the executor's thread takes from
it. Work never runs on the link's thread: that would miss heartbeats and lose the connection.

A delivery can be settled only on the channel it came by. When that is gone the broker has put
the message back already, so what we hold of it is forgotten, not acknowledged elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count
from threading import Condition, Event
from uuid import UUID

import structlog
from pika.adapters.select_connection import SelectConnection

from execution.broker.base import BrokerError, BrokerUnavailable, Inbox
from execution.broker.rabbitmq.connection import Link
from execution.broker.rabbitmq.consumers import Consumers, Delivery
from execution.broker.rabbitmq.parameters import HANDSHAKE_TIMEOUT
from execution.broker.rabbitmq.patience import Patience
from execution.broker.rabbitmq.topology import Topology

logger = structlog.get_logger(__name__)

EVERYTHING = 1_000_000


class UrgencyHeap:
    """Filled by one thread, emptied by another."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Delivery]] = []
        self._arrivals = count()
        self._changed = Condition()

    def push(self, delivery: Delivery) -> None:
        with self._changed:
            heapq.heappush(self._heap, (-delivery.priority, next(self._arrivals), delivery))
            self._changed.notify()

    def pop(self, limit: int, *, wait: float) -> list[Delivery]:
        """Return deliveries until they name `limit` executions; wait at most so long for the first."""
        taken: list[Delivery] = []
        named = 0
        with self._changed:
            self._changed.wait_for(lambda: self._heap, timeout=wait)
            while self._heap and named < limit:
                delivery = heapq.heappop(self._heap)[2]
                taken.append(delivery)
                named += len(delivery.executions)
        return taken

    def clear(self) -> None:
        with self._changed:
            self._heap.clear()


class RabbitMQInbox(Inbox):
    """Connects when made, and again by itself whenever the connection is lost."""

    def __init__(self, url: str, topology: Topology, tasks: Collection[str], *, prefetch: int) -> None:
        self._topology = topology
        self._tasks = sorted(tasks)
        self._prefetch = prefetch
        self._heap = UrgencyHeap()
        self._consumers: Consumers | None = None
        self._trouble: BrokerError | None = BrokerUnavailable("RabbitMQ: not connected yet")
        self._tried = Event()
        self._patience = Patience()  # with a broker that lets us in but refuses our queues
        self._closed = False
        self._resting = False
        self._link = Link(url, name="punctual inbox", keep=True, on_open=self._consume, on_lost=self._forget)
        self._link.connect()
        # A broker that is away is no reason to fail here: `take` says so, and it may come back.
        self._tried.wait(HANDSHAKE_TIMEOUT)

    @contextmanager
    def take(self, limit: int, *, wait: timedelta, but_not: Collection[UUID] = ()) -> Iterator[list[UUID]]:
        if self._resting:
            self._resting = False
            self._link.post(self._resume)
        taken = self._heap.pop(limit, wait=wait.total_seconds())
        if not taken:
            self._raise_trouble()
        try:
            yield [execution for delivery in taken for execution in delivery.executions]
        except BaseException:
            self._settle(taken, give_back=True)
            raise
        self._settle(taken, give_back=False)

    def rest(self) -> None:
        if not self._resting and not self._closed:
            self._resting = True
            self._link.post(self._pause)

    def close(self) -> None:
        self._closed = True
        self._link.close()

    def _raise_trouble(self) -> None:
        if self._closed:
            raise BrokerUnavailable("This inbox is closed: subscribe again")
        trouble = self._trouble
        if trouble is not None:
            raise type(trouble)(*trouble.args)  # a fresh one: tracebacks pile up on a kept one

    def _settle(self, deliveries: list[Delivery], *, give_back: bool) -> None:
        if deliveries and not self._closed:
            self._link.post(partial(self._settle_now, deliveries, give_back))

    # ---- on the link's thread ----

    def _pause(self) -> None:
        if self._consumers is not None:
            self._consumers.pause()
        self._settle_now(self._heap.pop(limit=EVERYTHING, wait=0), give_back=True)

    def _resume(self) -> None:
        if self._consumers is not None:
            self._consumers.resume()

    def _settle_now(self, deliveries: list[Delivery], give_back: bool) -> None:
        current = self._consumers
        if current is not None:
            current.settle([each.tag for each in deliveries if each.source is current], give_back=give_back)

    def _consume(self, connection: SelectConnection) -> None:
        if not connection.is_open:
            return
        self._consumers = Consumers(
            connection,
            self._topology,
            self._tasks,
            prefetch=self._prefetch,
            paused=self._resting,
            deliver=self._heap.push,
            on_ready=self._ready,
            on_refused=partial(self._refused, connection),
        )

    def _ready(self) -> None:
        self._trouble = None
        self._patience.reset()
        self._tried.set()

    def _refused(self, connection: SelectConnection, error: BrokerError) -> None:
        pause = self._patience.failed(lived=0)
        if self._patience.failures == 1:
            logger.error("broker.consuming_refused", reason=str(error))
        self._forget(error)
        self._link.later(pause, partial(self._consume, connection))

    def _forget(self, error: BrokerError) -> None:
        self._consumers = None
        self._heap.clear()
        self._trouble = error
        self._tried.set()
