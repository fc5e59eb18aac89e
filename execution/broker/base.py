"""What carries execution ids to executors, and what it promises.

A broker moves ids, never payloads: what to run stays in the database, so an edit or a cancel
is seen at the claim. It may lose everything it holds. The recoverer finds what stopped moving
from the rows alone; a broker that forgets costs time, never an execution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

NO_DELAY = timedelta()


class BrokerError(Exception):
    """Something went wrong between us and the broker."""


class BrokerUnavailable(BrokerError):
    """The broker cannot be reached, or has stopped answering: nothing was lost, try again later."""


class TopologyMismatch(BrokerError):
    """A queue or exchange exists with other arguments than ours, and only a person may settle that."""


Bundle = Callable[[str], int]  # how many executions of a task go together


def alone(task: str) -> int:
    return 1


@dataclass(frozen=True, slots=True)
class Message:
    """Executions of one task that travel together, at one priority and after one delay."""

    task: str
    executions: tuple[UUID, ...]
    priority: int
    delay: timedelta = NO_DELAY


class Inbox(ABC):
    """What one executor receives. Used by a single thread."""

    chooses = False  # whether `take` can leave executions of some tenants where they are

    @abstractmethod
    def take(
        self, limit: int, *, wait: timedelta, but_not: Collection[UUID] = ()
    ) -> AbstractContextManager[list[UUID]]:
        """Offer about `limit` waiting executions, most urgent first, for the length of a `with` block.

        Waits at most `wait` for the first. A message is never split, so its last ids may go past
        the limit. Leaving the block normally acknowledges them: claim inside it. Leaving it with
        an error gives them back. An execution may be offered twice; the claim makes that harmless.
        Executions of the tenants in `but_not` are not wanted now: a broker that `chooses` leaves them
        where they are. Raises BrokerUnavailable while the broker is out of reach.
        """

    @abstractmethod
    def rest(self) -> None:
        """Hold nothing back from others until the next `take`: this executor is busy for longer."""

    @abstractmethod
    def close(self) -> None:
        """Stop receiving, and give back whatever was not acknowledged."""


class Broker(ABC):
    """Hands executions to executors, one queue a task. Safe to share between threads."""

    def carries(self, task: str) -> bool:
        """Whether executions of a task reach executors by messages, so that nobody has to find them in the database."""
        return True

    @abstractmethod
    def publish(self, messages: Sequence[Message]) -> list[Message]:
        """Hand messages over, and return those the broker has taken responsibility for.

        One with a delay is offered no sooner than that delay from now. Returns once each is
        confirmed or refused. What is missing from the answer may or may not have arrived.
        Raises BrokerUnavailable when the broker is out of reach.
        """

    @abstractmethod
    def subscribe(self, tasks: Collection[str], *, prefetch: int, bundle: Bundle = alone) -> Inbox:
        """Start receiving the executions of these tasks.

        `prefetch` bounds how many messages of a task wait with us: a message that has
        reached an executor can no longer be overtaken by a more urgent one. `bundle` tells how many
        executions of a task go together, for a broker that has no messages to keep them together.
        """

    @abstractmethod
    def bury(self, messages: Sequence[Message]) -> list[Message]:
        """Put executions whose retries are exhausted among the dead letters; return those taken."""

    @abstractmethod
    def unbury(self, executions: Collection[UUID]) -> int:
        """Take these out of the dead letters; return how many messages were removed.

        For each, the oldest message that names it: one that was buried again meanwhile keeps its
        new one. An execution given twice loses two. Those not there are ignored, and dead
        letters nobody can read are never touched. Raises BrokerUnavailable when the broker is out
        of reach; what was removed by then stays removed, and all else stays where it was.
        """

    @abstractmethod
    def buried(self, limit: int) -> list[UUID]:
        """The executions that about `limit` of the dead letters name, oldest first, repeated as often as they are."""

    @abstractmethod
    def depth(self, task: str) -> int:
        """How many messages wait for an executor of `task`."""

    @abstractmethod
    def dead_letters(self) -> int:
        """How many messages lie among the dead letters."""

    @abstractmethod
    def mismatches(self, tasks: Collection[str]) -> list[str]:
        """What the broker holds for these tasks otherwise than we would declare it: what differs, and what to do.

        Nothing is declared for it. Raises BrokerUnavailable when the broker is out of reach.
        """

    @abstractmethod
    def version(self) -> str:
        """Of the broker's own server; empty where it has none. Raises BrokerUnavailable."""

    @abstractmethod
    def alarm(self) -> str:
        """Why the broker's own server takes no messages though it answers, in its words; empty while it takes them.

        Raises BrokerUnavailable when the broker is out of reach.
        """

    @abstractmethod
    def ping(self) -> None:
        """Do nothing, or raise BrokerUnavailable with the reason."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections and threads. The broker can still be used afterwards: it reconnects."""
