"""Clients that connect and then send, or read, as little as they can."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress

CONNECTIONS = 500
BYTE_EVERY = 1.0  # seconds
POST = b"POST /api/v1/auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

Address = tuple[str, int]


def silent_bodies(address: Address, until: float) -> int:
    """Announce a body and never send it."""
    return _hold(address, until, POST + b"Content-Length: 100\r\n\r\n")


def slow_bodies(address: Address, until: float) -> int:
    """Announce a body and send a byte a second."""
    return _hold(address, until, POST + b"Content-Length: 100000\r\n\r\n", drip=b" ")


def slow_headers(address: Address, until: float) -> int:
    """Send a byte of a header a second."""
    return _hold(address, until, b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", drip=b"a")


def slow_readers(address: Address, until: float) -> int:
    """Ask for a large answer again and again, and never read."""
    ask = b"GET /api/schema HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return _hold(address, until, ask * 4, receive_buffer=2048)


def _hold(address: Address, until: float, first: bytes, *, drip: bytes = b"", receive_buffer: int = 0) -> int:
    """Keep `CONNECTIONS` open until `until`, opening those anew that were closed; return how many were opened."""
    held: dict[socket.socket, None] = {}
    opened = 0
    drip_at = time.monotonic() + BYTE_EVERY
    with selectors.DefaultSelector() as selector:
        while time.monotonic() < until:
            while len(held) < CONNECTIONS:
                if (connection := _opened(address, first, receive_buffer)) is None:
                    break
                held[connection] = None
                opened += 1
                if not receive_buffer:
                    selector.register(connection, selectors.EVENT_READ)
            if receive_buffer or not selector.get_map():
                time.sleep(0.1)
            for key, _ in selector.select(0.1) if selector.get_map() else ():
                _read(key.fileobj, lambda gone: (selector.unregister(gone), held.pop(gone), gone.close()))
            if drip and time.monotonic() >= drip_at:
                drip_at = time.monotonic() + BYTE_EVERY
                for connection in list(held):
                    with suppress(OSError):
                        connection.send(drip)
        for connection in held:
            connection.close()
    return opened


def _opened(address: Address, first: bytes, receive_buffer: int) -> socket.socket | None:
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(1)
    try:
        connection.connect(address)
        connection.sendall(first)
    except OSError:
        connection.close()
        return None
    connection.setblocking(False)
    return connection


def _read(connection: socket.socket, when_closed: Callable[[socket.socket], object]) -> None:
    try:
        if connection.recv(65536):
            return
    except BlockingIOError:
        return
    except OSError:
        pass
    when_closed(connection)
