"""Who used the processors: seconds of CPU time by kind of process, read from /proc.

On two cores the sum is what decides, whoever waits for whom meanwhile.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")  # a second
SERVERS = {"postgres": "PostgreSQL", "redis-server": "Redis", "beam.smp": "RabbitMQ"}  # by the process's name
OURS = {
    "run_poller": "poller",
    "run_executor": "executor",
    "run_recoverer": "recoverer",
    "benchmarks.bare": "bare pipeline",
}  # by a word of the command


def cpu_seconds() -> Counter[str]:
    """What each kind has used since its processes were started."""
    used: Counter[str] = Counter()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if kind := _kind(process):
                copied = kind == "executor" and _kind(Path("/proc", fields[1])) == "executor"
                used["handlers" if copied else kind] += (int(fields[11]) + int(fields[12])) / TICKS
    return used


def _kind(process: Path) -> str | None:
    name = (process / "comm").read_text().strip()
    if name in SERVERS:
        return SERVERS[name]
    command = (process / "cmdline").read_bytes().decode(errors="replace")
    return next((kind for word, kind in OURS.items() if word in command), None)
