"""A call on one thread that another thread can interrupt, wherever it is in Python code.

An exception is raised in the thread, so a handler in `while True` ends, its `finally` blocks run,
and nothing of it is left. What sits in C code (a `sleep` of an hour, a driver without a timeout)
hears of it only afterwards: that is for whoever can end the whole process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import compress, repeat, starmap
from operator import attrgetter, call, eq, is_, methodcaller
from typing import TypeVar

from execution.retry import Interrupted
from execution.workshop import moments

T = TypeVar("T")

TRIES, PAUSE = 40, 0.0005  # and seconds between them. A `with` may block for longer; the caller then tries again.

_set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_exception.argtypes = (ctypes.c_ulong, ctypes.py_object)


def raise_in_thread(thread: int, why: type[BaseException]) -> bool:
    """Raise it in the thread; return False, and do nothing, at a moment when a lock would be lost."""
    if not moments.ENTERS_BY_A_CALL:
        _set_exception(thread, why)
        return True
    if (frame := sys._current_frames().get(thread)) is None:
        return True  # the thread has ended
    at = frame.f_lasti
    if not moments.is_safe(frame, at):
        return False
    # The thread may go on at each step of Python code here, but not during one call that stays in C. So the second look
    # and the act on it are one such call.
    frames = map(methodcaller("get", thread), map(call, repeat(sys._current_frames, 1)))
    in_frame = compress([(thread, why)], map(partial(is_, frame), frames))
    unmoved = compress(in_frame, map(partial(eq, at), map(attrgetter("f_lasti"), [frame])))
    return bool(sum(starmap(_set_exception, unmoved)))


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
            for _ in range(TRIES):
                if (thread := self._thread) is None or raise_in_thread(thread, self._wanted):
                    return
                time.sleep(PAUSE)


def _await_it() -> None:
    """One that is on its way is raised between two steps of Python code, so here at the latest.

    If the handler has had it already, nothing comes, and we go on.
    """
    for _ in range(20):
        time.sleep(0.001)
