"""A connection to an address that was checked, encrypted and verified where the URL says https."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from functools import lru_cache

from execution.outbound.deadline import Deadline
from execution.outbound.errors import NoAnswer
from execution.outbound.urls import Address, Target

CONNECT = 4.0  # seconds for each address: the next may be better
HANDSHAKE = 10.0  # seconds


def connect(target: Target, addresses: Sequence[Address], deadline: Deadline, *, ca_file: str = "") -> socket.socket:
    """A connection to the first address that takes one. The name serves to verify its certificate, and nothing else."""
    faults = []
    for address in addresses:
        left = deadline.left(f"connecting to {target.authority}", most=CONNECT)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(left)
            connection.connect((str(address), target.port))
            return _secured(connection, target, deadline, ca_file) if target.scheme == "https" else connection
        except BaseException as error:
            connection.close()
            if isinstance(error, NoAnswer) or not isinstance(error, OSError):
                raise  # the time is up, or we are to end
            faults.append(f"{address}: {error}")
    raise NoAnswer(f"No connection to {target.authority} ({'; '.join(faults)}).")


def _secured(plain: socket.socket, target: Target, deadline: Deadline, ca_file: str) -> socket.socket:
    plain.settimeout(deadline.left(f"greeting {target.authority}", most=HANDSHAKE))
    return _context(ca_file).wrap_socket(plain, server_hostname=target.host)


@lru_cache(maxsize=4)
def _context(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context
