"""How much memory processes hold: resident, from /proc. A child that is a copy of its parent shares part of that."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")  # bytes


def resident(processes: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Megabytes by kind: the processes of that kind, and apart from them, all their children together."""
    held: dict[str, float] = {}
    for kind, process in processes:
        held[kind] = held.get(kind, 0.0) + _megabytes(process)
        if children := _below(process):
            theirs = f"{kind}'s children"
            held[theirs] = held.get(theirs, 0.0) + sum(_megabytes(child) for child in children)
    return {kind: round(megabytes, 1) for kind, megabytes in held.items()}


def _megabytes(process: int) -> float:
    with suppress(OSError):  # one that has ended since holds nothing
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 2**20
    return 0.0


def _below(process: int) -> list[int]:
    """The children of a process, and theirs."""
    children = []
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            children += [int(child) for child in (thread / "children").read_text().split()]
    return children + [further for child in children for further in _below(child)]
