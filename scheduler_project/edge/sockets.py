"""Bounds what the kernel holds for clients that do not read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress

MAX_UNSENT = 128 * 1024  # bytes of an answer that wait in the kernel; by default it takes up to 4 MB a connection
SILENCE = 30_000  # milliseconds without any progress, after which a connection is reset


def bound_connections() -> None:
    """Set this process's listening sockets so: connections inherit it. The server itself has no option for it."""
    for listener in _listeners():
        with listener:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE)


def _listeners() -> Iterator[socket.socket]:
    if not os.path.isdir("/proc/self/fd"):  # not Linux
        return
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it is gone, or not a socket
            found = socket.socket(fileno=os.dup(int(number)))
            if found.type == socket.SOCK_STREAM and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                yield found
            else:
                found.close()
