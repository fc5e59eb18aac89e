"""Where child processes come from: a copy of this process, made while it had neither threads nor connections.

To fork a process that has threads is to copy locks that nobody will release. So the copy is made first of all, does
nothing, and is forked again for each child. That takes milliseconds, and a child has everything loaded already.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from threading import Lock, active_count
from typing import NoReturn

from django.db import connections

from scheduler_project.memory import keep_what_is_loaded

Main = Callable[[Connection, int], None]


class NurseryLost(Exception):
    """The copy is gone, and with it the means to make children."""


class Newborn:
    """A child process, and our end of the pipe to it."""

    def __init__(self, nursery: Nursery, pid: int, pipe: Connection) -> None:
        self._nursery = nursery
        self._pid = pid
        self._joined = False
        self.pipe = pipe

    def kill(self) -> None:
        if not self._joined:  # until then it keeps its number, even when it has ended
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def join(self) -> int | None:
        """Wait for its end, and return its exit code: the negative number of a signal, if one ended it."""
        self._joined = True
        with suppress(NurseryLost):
            return self._nursery.ask(self._pid)
        return None


class Nursery:
    """Make it before any thread is started. Its children run `main(pipe, threads)`, and it ends when we do."""

    def __init__(self, main: Main) -> None:
        if active_count() > 1:
            raise RuntimeError("A nursery is made before the first thread is started: it copies this process.")
        connections.close_all()
        sys.stdout.flush()
        self._lock = Lock()
        self._orders, theirs = Pipe()
        self._pid = os.fork()
        if not self._pid:
            keep_what_is_loaded()
            self._orders.close()
            _serve(theirs, main)
        theirs.close()

    def birth(self, threads: int) -> Newborn:
        ours, theirs = Pipe()
        with theirs:
            return Newborn(self, self.ask(("birth", threads), theirs), ours)

    def ask(self, order: object, pipe: Connection | None = None) -> int:
        try:
            with self._lock:
                self._orders.send(order)
                if pipe is not None:
                    send_handle(self._orders, pipe.fileno(), self._pid)
                return self._orders.recv()
        except (OSError, EOFError) as error:
            raise NurseryLost("The process that handlers' processes are made from has ended.") from error


def _serve(orders: Connection, main: Main) -> NoReturn:
    """In the copy. Signals meant for the whole group are the original's to heed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        while True:
            match orders.recv():
                case ("birth", int(threads)):
                    orders.send(_fork(orders, main, recv_handle(orders), threads))
                case int(pid):
                    orders.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    finally:  # the original has ended, or this makes no sense any more
        os._exit(0)


def _fork(orders: Connection, main: Main, handle: int, threads: int) -> int:
    pid = os.fork()
    if pid:
        os.close(handle)
        return pid
    try:
        orders.close()
        main(Connection(handle), threads)
    finally:
        os._exit(1)
