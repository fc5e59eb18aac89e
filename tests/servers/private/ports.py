"""Ports for private servers."""

import random
import socket

# Below every system's range for outgoing connections. In that range a client that keeps trying to
# reach a stopped server sooner or later is given the server's own port to call from, connects to
# itself, and the server can never come back.
LOWEST, HIGHEST = 20_000, 32_000


def free_port() -> int:
    """Return a loopback port on which nobody listens now."""
    for _ in range(100):
        port = random.randint(LOWEST, HIGHEST)
        with socket.socket() as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"No free port between {LOWEST} and {HIGHEST}. Stop what listens there.")


def is_open(port: int) -> bool:
    """Return whether someone listens on the loopback's `port`."""
    with socket.socket() as visitor:
        visitor.settimeout(1)
        return visitor.connect_ex(("127.0.0.1", port)) == 0
