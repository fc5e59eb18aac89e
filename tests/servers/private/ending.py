"""What must still happen when the run ends early, by Ctrl-C, SIGTERM or a closed terminal.

Signals only unwind, they never clean up: a handler runs in the middle of whatever the main thread
does, and stopping a child from inside a wait for that child waits for ever. After SIGKILL nobody is
left to act: `leash` has the kernel end the children then.
"""

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType


class Ended(KeyboardInterrupt):
    """The run was told to end. A kind of Ctrl-C, because that unwinds everything, pytest included."""

    def __init__(self, number: int):
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


_acts: dict[object, Callable[[], None]] = {}
_owner: int | None = None


def on_exit(act: Callable[[], None]) -> Callable[[], None]:
    """Have `act` called when this process ends; calling what is returned calls it off."""
    global _owner
    if _owner != os.getpid():
        # A forked child inherits the list, but not the right to stop its parent's servers.
        _owner = os.getpid()
        _acts.clear()
        atexit.register(_end_all)
        _unwind_on_signals()
    ticket = object()
    _acts[ticket] = act

    def call_off() -> None:
        _acts.pop(ticket, None)

    return call_off


def _end_all() -> None:
    if _owner != os.getpid():
        return
    while _acts:
        _, act = _acts.popitem()  # the last begun ends first
        act()


def _unwind_on_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # Python lets only the main thread set handlers
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Only where nobody has plans for the signal: a test may be about exactly that.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _unwind)


def _unwind(number: int, frame: FrameType | None) -> None:
    raise Ended(number)
