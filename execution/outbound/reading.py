"""A connection that gives no more bytes and no more time than agreed, for `http.client` to read from."""

from __future__ import annotations

import io
import socket
from typing import Any

from execution.outbound.deadline import Deadline
from execution.outbound.errors import NoAnswer

PIECE = 65536  # bytes sent at once


class TooLong(NoAnswer):
    """More was sent than we are willing to look at."""


class _Source(io.RawIOBase):
    def __init__(self, link: BoundedLink) -> None:
        self._link = link

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._link.receive_into(buffer)


class BoundedLink:
    """As much of a socket as `http.client` uses. `allowance` is how many bytes may still come in."""

    def __init__(self, connection: socket.socket, deadline: Deadline, allowance: int) -> None:
        self._connection = connection
        self._deadline = deadline
        self.allowance = allowance
        self.ended = False  # whether the other side has said all it will

    def sendall(self, data: Any) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            self._connection.settimeout(self._deadline.left("sending the request"))
            try:
                rest = rest[self._connection.send(rest[:PIECE]) :]
            except TimeoutError:
                continue  # a glance is over, not the deadline

    def receive_into(self, buffer: Any) -> int:
        if self.allowance <= 0:
            raise TooLong("The answer is longer than we are willing to read.")
        room = memoryview(buffer)[: self.allowance]
        while True:
            self._connection.settimeout(self._deadline.left("waiting for the answer"))
            try:
                count = self._connection.recv_into(room)
            except TimeoutError:
                continue
            self.allowance -= count
            self.ended = not count
            return count

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Source(self))

    def close(self) -> None:
        """Nothing: `http.client` lets go of a connection before its answer is read."""

    def hang_up(self) -> None:
        self._connection.close()
