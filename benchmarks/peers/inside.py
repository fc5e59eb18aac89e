"""What runs inside a peer's own processes: `python -m benchmarks.peers.inside MODULE produce|work`.

A peer's module says what its task, its producer and its worker are; this starts them, and never measures. The
standard library is all it may import, as every peer's environment has that.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module

NAME = "PEER_NAME"  # the variable with the name of this run, of letters and digits: for queues and keys
DONE = "PEER_DONE"  # the variable with the path of the file that gets one byte for every completed task


@cache
def _completed() -> int:
    return os.open(os.environ[DONE], os.O_WRONLY | os.O_APPEND)


def note() -> None:
    """All that a task does. Appending one byte is atomic, and the cheapest count that many processes can share."""
    os.write(_completed(), b".")


def produce(module: str) -> None:
    """Enqueue as many tasks as each line on standard input says, and answer when they are all handed over."""
    peer = import_module(module)
    getattr(peer, "prepare", lambda: None)()
    print("ready", flush=True)
    for line in sys.stdin:
        peer.enqueue(int(line))
        print("enqueued", flush=True)


def work(module: str) -> None:
    """Become the peer's own worker, started by its own command."""
    os.execv(sys.executable, [sys.executable, "-m", *import_module(module).WORKER])


if __name__ == "__main__":
    module, role = sys.argv[1:]
    {"produce": produce, "work": work}[role](module)
