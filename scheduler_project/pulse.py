"""A file that is touched while a daemon's loop turns: what a container's healthcheck looks at.

It says that the loop turns, not that its rounds succeed: a lost database must not get every daemon restarted.
`deploy/healthy.py` reads it, in a process of its own that needs none of Django.
"""

from __future__ import annotations

import time
from pathlib import Path

EVERY = 1.0  # seconds between two touches: a busy loop turns hundreds of times in that


class Pulse:
    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._next = 0.0

    def beat(self) -> None:
        if self._path is not None and (now := time.monotonic()) >= self._next:
            self._path.touch()
            self._next = now + EVERY
