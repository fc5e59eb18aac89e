"""What others have asked of a link and not been answered yet. Used on the link's thread only."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pika.adapters.select_connection import SelectConnection

Start = Callable[[SelectConnection, "Future[Any]"], None]


class Calls:
    """Holds calls until the connection opens, and their futures until they are settled."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Start, Future[Any]]] = []
        self._running: set[Future[Any]] = set()

    def hold(self, start: Start, future: Future[Any]) -> None:
        self._waiting.append((start, future))

    def release(self, connection: SelectConnection) -> None:
        waiting, self._waiting = self._waiting, []
        for start, future in waiting:
            self.run(start, connection, future)

    def run(self, start: Start, connection: SelectConnection, future: Future[Any]) -> None:
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            start(connection, future)
        except Exception as error:  # must not end the thread, which serves others too
            if not future.done():
                future.set_exception(error)

    def fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, []
        for future in [*self._running, *(future for _, future in waiting)]:
            if not future.done():
                future.set_exception(error)
