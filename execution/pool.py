"""Threads for handlers.

The standard pool waits for its threads when the process ends, however long they take. Ours are
daemons: a process that has used up its grace ends, whatever a handler is doing.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

import structlog

logger = structlog.get_logger(__name__)


class DaemonPool:
    def __init__(self, threads: int, on_broken: Callable[[], None] = lambda: None) -> None:
        """`on_broken` is called when a thread ends that should not, which leaves one less for good."""
        self._on_broken = on_broken
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [Thread(target=self._run, name=f"handler-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], None]) -> None:
        """Have `work` run as soon as a thread is free. It must not raise."""
        self._work.put(work)

    def close(self) -> None:
        """Let threads end once nothing is left to do. Does not wait for them."""
        for _ in self._threads:
            self._work.put(None)

    def _run(self) -> None:
        try:
            while (work := self._work.get()) is not None:
                try:
                    work()
                except BaseException:  # a thread less would go unnoticed until there are none
                    logger.exception("pool.work_raised")
                del work  # what it holds is freed now, not when the next work comes
        except BaseException:  # no memory even to say so
            self._on_broken()
            raise
