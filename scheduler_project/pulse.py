"""Files that are touched while a daemon's loop turns: what a container's healthcheck looks at.

The first says that the loop turns, not that its rounds succeed: a lost database must not get every daemon restarted.
The second, beside it, says that they do: a rollout must not replace processes that work by ones that cannot.
`deploy/healthy.py` reads both, in a process of its own that needs none of Django.
"""

from __future__ import annotations

import time
from pathlib import Path

EVERY = 1.0  # seconds between two touches: a busy loop turns hundreds of times in that


READY = ".ready"  # what follows the first one's name in the second's


class Touched:
    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._next = 0.0

    def touch(self) -> None:
        if self._path is not None and (now := time.monotonic()) >= self._next:
            self._path.touch(mode=0o600)
            self._next = now + EVERY


class Pulse:
    def __init__(self, path: str) -> None:
        ready = Path(f"{path}{READY}") if path else None
        if ready is not None:
            ready.unlink(missing_ok=True)  # of a process before us: it says nothing of this one
        self._turns = Touched(Path(path) if path else None)
        self._works = Touched(ready)

    def beat(self) -> None:
        """The loop turns."""
        self._turns.touch()

    def succeeded(self) -> None:
        """A round has done what it is for."""
        self._works.touch()
