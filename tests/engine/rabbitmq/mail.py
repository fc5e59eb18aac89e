"""Messages, and waiting for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from uuid import UUID, uuid4

from execution.broker.base import NO_DELAY, BrokerUnavailable, Inbox, Message
from execution.broker.rabbitmq.topology import rung

TASKS = ("tidy", "email")
HIGH, NORMAL, LOW = 9, 5, 1
SOON = timedelta(seconds=3)  # the longest a test waits for what should come at once
AT_ONCE = timedelta()
rungs_used: set[int] = set()  # by this process, for cleaning up


def message(task: str = "tidy", *, ids: int = 1, priority: int = NORMAL, delay: timedelta = NO_DELAY) -> Message:
    rungs_used.add(rung(delay))
    return Message(task, tuple(uuid4() for _ in range(ids)), priority, delay)


def receive(inbox: Inbox, expected: int, *, within: float = 5, limit: int = 100) -> list[UUID]:
    """Take until so many ids have come, riding out outages as an executor's loop would."""
    received: list[UUID] = []
    deadline = time.monotonic() + within
    while len(received) < expected and time.monotonic() < deadline:
        with suppress(BrokerUnavailable), inbox.take(limit, wait=timedelta(seconds=0.2)) as ids:
            received += ids
    return received


def comes(inbox: Inbox, sent: Message) -> bool:
    """Whether it is offered; what came before an outage may be offered again before it."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if sent.executions[0] in receive(inbox, 1):
            return True
    return False


def eventually(condition: Callable[[], bool], *, within: float = 5) -> bool:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def persistently(attempt: Callable[[], list[Message]], *, within: float = 5) -> list[Message]:
    """Try again while the broker is out of reach, as the recoverer would."""
    deadline = time.monotonic() + within
    while True:
        try:
            return attempt()
        except BrokerUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
