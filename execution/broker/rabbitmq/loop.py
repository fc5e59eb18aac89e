"""A thread that serves one pika event loop, and is there whenever somebody needs it.

pika is not thread-safe: whatever touches it is handed to this thread as a function.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial

import structlog
from pika.adapters.select_connection import IOLoop

from execution.broker.rabbitmq.parameters import CLOSE_TIMEOUT

logger = structlog.get_logger(__name__)

FAULT_PAUSE = 0.1  # s; a fault that comes back at once must not fill the log


class LoopThread:
    """Starts at the first `post`, and again at the first after it was closed or left behind by a fork.

    `on_start` runs before the thread does; `on_fault` when a function it was handed has failed,
    with the reason; `on_end` as its last act.
    """

    def __init__(
        self,
        name: str,
        *,
        on_start: Callable[[], None],
        on_fault: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        self._name = name
        self._on_start = on_start
        self._on_fault = on_fault
        self._on_end = on_end
        self._lock = threading.Lock()  # guards the coming and going of the thread
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self.ioloop: IOLoop

    def post(self, function: Callable[[], None]) -> None:
        """Have `function` run on the thread soon. Not from the thread itself: closing would deadlock."""
        if self._pid != os.getpid():
            # A fork inherits the socket and perhaps a held lock, but not the thread: it starts afresh.
            self._lock, self._thread, self._pid = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._on_start()
                self.ioloop = IOLoop()
                self._thread = threading.Thread(target=self._run, args=[self.ioloop], name=self._name, daemon=True)
                self._thread.start()
            self.ioloop.add_callback_threadsafe(function)

    def close(self, goodbye: Callable[[], None]) -> None:
        """Run `goodbye`, which stops the loop sooner or later, and wait for the thread to end."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                self.ioloop.add_callback_threadsafe(goodbye)
                self._thread.join(CLOSE_TIMEOUT * 2)
            self._thread = None

    def _run(self, ioloop: IOLoop) -> None:
        while True:
            try:
                ioloop.start()
            except Exception as error:  # must not end the thread: others count on what they have posted
                logger.exception("broker.thread_fault", connection=self._name)
                time.sleep(FAULT_PAUSE)
                ioloop.add_callback_threadsafe(partial(self._on_fault, f"a fault on our side: {error!r}"))
            else:
                break
        self._on_end()
        ioloop.close()
