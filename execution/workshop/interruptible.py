"""A call on one thread that another thread can interrupt, wherever it is in Python code.

An exception is raised in the thread, so a handler in `while True` ends, its `finally` blocks run,
and nothing of it is left. What sits in C code (a `sleep` of an hour, a driver without a timeout)
hears of it only afterwards: that is for whoever can end the whole process.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from execution.retry import Interrupted

T = TypeVar("T")

raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
raise_in_thread.argtypes = (ctypes.c_ulong, ctypes.py_object)


class Interruptible:
    """One call. `interrupt` may come before, during and after it, any number of times."""

    __slots__ = ("_lock", "_thread", "_wanted")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._wanted: type[Interrupted] | None = None

    def call(self, function: Callable[[], T]) -> T:
        """Call `function`, and let no interruption reach what this thread does afterwards.

        Nearly nobody is interrupted, so nothing is locked for it. Here the thread is noted first and then it is asked
        whether an end is wanted; there it is the other way round. So one of the two always sees the other.
        """
        if self._wanted is not None:
            raise self._wanted  # nobody has seen a thread yet, so nothing is on its way to be waited for
        ended = False
        try:
            self._thread = threading.get_ident()
            if self._wanted is not None:
                raise self._wanted
            return function()
        finally:
            # The exception may come at any step, also at the first one of leaving.
            while not ended:
                try:
                    self._thread = None
                    if self._wanted is not None:
                        with self._lock:  # whoever wants it is done with us
                            _await_it()
                    ended = True
                except Interrupted:
                    continue

    def interrupt(self, why: type[Interrupted]) -> None:
        with self._lock:
            self._wanted = self._wanted or why
            if (thread := self._thread) is not None:
                raise_in_thread(thread, self._wanted)


def _await_it() -> None:
    """One that is on its way is raised between two steps of Python code, so here at the latest.

    If the handler has had it already, nothing comes, and we go on.
    """
    for _ in range(20):
        time.sleep(0.001)
