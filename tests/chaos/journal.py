"""An append-only file of JSON lines, one write each: what a killed process wrote before stays whole."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, **facts: Any) -> None:
        """Append one line, stamped with both clocks; safe to call from any thread."""
        line = {"wall": time.time(), "mono": time.monotonic(), **facts}
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal; none when nobody wrote one."""
    if path.exists():
        with path.open() as lines:
            for line in lines:
                yield json.loads(line)
