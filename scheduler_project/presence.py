"""Says that a process is there, every other second, to whoever looks at the workers.

From a thread of its own, so that a busy process is seen as busy and not as gone. That thread would go on while the loop
hangs, so it also says when a round ended last. Nothing depends on it: while the database is away nothing is said, and
nobody waits for it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from threading import Event, Thread
from typing import NamedTuple

import structlog
from django.conf import settings
from django.db import connections

from jobs.clock import database_now
from jobs.models import Presence

logger = structlog.get_logger(__name__)


def running_version() -> str:
    try:
        return version("punctual")
    except PackageNotFoundError:  # run from its source
        return "source"


class Load(NamedTuple):
    """What an executor does at the moment."""

    holding: int = 0  # executions
    overrun: int = 0  # of these, those past their time limit
    concluded: int = 0  # changes whenever an attempt that a handler has ended is settled


class Announcer:
    """One process in one role."""

    def __init__(self, role: str, *, load: Callable[[], Load] = Load, room: int = 0, tasks: Sequence[str] = ()) -> None:
        host, pid = socket.gethostname(), os.getpid()
        name = f"{host}-{pid}"[:100]
        self._row = Presence(
            id=f"{role}:{name}"[:120],
            role=role,
            name=name,
            host=host[:100],
            pid=pid,
            version=running_version()[:20],
            room=room,
            tasks=list(tasks),
        )
        self._load = load
        self._concluded = 0
        self._round_ended = time.monotonic()
        self._stopped = Event()
        self._thread = Thread(target=self._run, name=f"{role}-presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def round_ended(self) -> None:
        """Called by the loop, after each round, however it ended."""
        self._round_ended = time.monotonic()

    def say(self) -> None:
        """Write that we are here now, and forget who has not been for long."""
        now = database_now()
        self._row.since = self._row.since or now
        load = self._load()
        self._row.seen_at, self._row.holding, self._row.overrun = now, load.holding, load.overrun
        if load.concluded != self._concluded:
            self._concluded, self._row.concluded_at = load.concluded, now
        self._row.round_at = now - timedelta(seconds=time.monotonic() - self._round_ended)
        Presence.objects.bulk_create(
            [self._row],
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=[
                *("seen_at", "round_at", "since", "holding", "overrun", "concluded_at", "room", "tasks", "version")
            ],
        )
        Presence.objects.forgotten(now).delete()

    def leave(self) -> None:
        Presence.objects.filter(pk=self._row.pk).delete()

    def _run(self) -> None:
        silent = False
        while True:
            try:
                self.say()
                silent = False
            except Exception as error:
                if not silent:  # said once for an outage
                    logger.warning("presence.unsaid", error=str(error), remedy="tried again until it works")
                silent = True
                connections.close_all()
            if self._stopped.wait(settings.PRESENCE_INTERVAL.total_seconds()):
                break
        if not silent:
            try:
                self.leave()
            except Exception as error:
                logger.warning("presence.not_left", error=str(error), remedy="it vanishes by itself")
        connections.close_all()


@contextmanager
def announced(
    role: str, *, load: Callable[[], Load] = Load, room: int = 0, tasks: Sequence[str] = ()
) -> Iterator[Announcer]:
    """Be seen for as long as the block lasts."""
    announcer = Announcer(role, load=load, room=room, tasks=tasks)
    announcer.start()
    try:
        yield announcer
    finally:
        announcer.stop()
