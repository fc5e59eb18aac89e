"""What we ask RabbitMQ to hold: names, arguments, and the ladder of retry delays.

Pure but for `declare`, which says it all to a channel. The arguments of a queue cannot be
changed once it exists, so every process has to say the same: they are written here only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pika.channel import Channel
from pika.exchange_type import ExchangeType

MAX_PRIORITY = 10  # each level costs the broker memory; ours are 1, 5 and 9

SHORTEST_RUNG = 100  # ms
LONGEST_RUNG = 7 * 24 * 3600 * 1000  # ms; what waits longer is held back by its row, not by us

# RabbitMQ deletes a queue that had no consumer and was not declared for `x-expires`, whatever
# is in it, and dead-letters none of it; publishing does not renew the lease, declaring does.
# So a rung outlives its last declaration by its own delay and this margin, and is declared
# again before a publish once the last time is RUNG_FRESH ago. A message enters at most
# RUNG_FRESH after a declaration and leaves one delay later: nine minutes to spare.
RUNG_MARGIN = 600_000  # ms
RUNG_FRESH = 60.0  # s


def _ladder() -> tuple[int, ...]:
    rungs = [SHORTEST_RUNG]
    while rungs[-1] < LONGEST_RUNG:
        rungs.append(min(rungs[-1] * 11 // 10, LONGEST_RUNG))
    return tuple(rungs)


LADDER = _ladder()


def rung(delay: timedelta) -> int:
    """Return the smallest rung, in milliseconds, that is not shorter than `delay`.

    Never early, at most a tenth and 0.1 s late. Beyond the longest rung it returns that one:
    such a message comes back early, and the claim finds its execution not due yet.
    """
    milliseconds = -(-delay // timedelta(milliseconds=1))
    return LADDER[min(bisect_left(LADDER, milliseconds), len(LADDER) - 1)]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable exchange."""

    name: str
    type: ExchangeType


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable queue and the one binding that feeds it."""

    name: str
    exchange: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)


Part = Exchange | Queue


@dataclass(frozen=True, slots=True)
class Topology:
    """The names and arguments of one installation; a prefix lets several share a broker."""

    prefix: str = ""
    queue_type: str = ""  # said of every queue; if not, the broker's default is taken

    @property
    def exchange(self) -> str:
        return f"{self.prefix}jobs.exchange"

    @property
    def dead_letter_exchange(self) -> str:
        return f"{self.prefix}jobs.dead_letter.exchange"

    @property
    def dead_letter_queue(self) -> str:
        return f"{self.prefix}jobs.dead_letter.queue"

    @property
    def dead_letter_reader(self) -> str:
        """A queue that nothing is sent to: whoever has it to itself may go through the dead letters."""
        return f"{self.prefix}jobs.dead_letter.reader"

    def queue(self, task: str) -> str:
        return f"{self.prefix}jobs.queue.{task}"

    def retry(self, milliseconds: int) -> str:
        """The name of a rung: of its exchange and of its queue."""
        return f"{self.prefix}jobs.retry.{milliseconds}"

    def foundation(self) -> list[Part]:
        """What every process needs, whatever its tasks."""
        return [
            Exchange(self.exchange, ExchangeType.direct),
            Exchange(self.dead_letter_exchange, ExchangeType.fanout),
            Queue(self.dead_letter_queue, self.dead_letter_exchange, arguments=self._typed()),
        ]

    def for_task(self, task: str) -> list[Part]:
        arguments = {"x-max-priority": MAX_PRIORITY, "x-dead-letter-exchange": self.dead_letter_exchange}
        return [Queue(self.queue(task), self.exchange, task, self._typed(arguments))]

    def for_rung(self, milliseconds: int) -> list[Part]:
        """A waiting room: the queue's own TTL sends a message on with its own routing key, the task.

        The TTL is the queue's, never the message's: RabbitMQ expires from the head only, and a
        short delay would wait behind a long one. The exchange stays when the queue expires: a
        publish then comes back as unroutable, where a missing exchange would close the channel.
        """
        name = self.retry(milliseconds)
        arguments = {
            "x-message-ttl": milliseconds,
            "x-expires": milliseconds + RUNG_MARGIN,
            "x-dead-letter-exchange": self.exchange,
        }
        return [Exchange(name, ExchangeType.fanout), Queue(name, name, arguments=self._typed(arguments))]

    def _typed(self, arguments: Mapping[str, Any] = {}) -> dict[str, Any]:
        return {**arguments, **({"x-queue-type": self.queue_type} if self.queue_type else {})}


def declare(channel: Channel, parts: Iterable[Part], done: Callable[[], None] | None = None) -> None:
    """Declare all parts, in order, without waiting; call `done` when the broker has made them all.

    A channel is served in order, so whatever is sent on it next finds the parts in place. The
    broker refuses a part by closing the channel: `done` is then never called.
    """
    for part in parts:
        match part:
            case Exchange(name, kind):
                channel.exchange_declare(name, kind, durable=True)
            case Queue(name, exchange, routing_key, arguments):
                channel.queue_declare(name, durable=True, arguments=dict(arguments))
                channel.queue_bind(name, exchange, routing_key)
    if done is not None:
        channel.basic_qos(callback=lambda _: done())  # any question will do: its answer comes last
