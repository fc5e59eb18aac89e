"""What others notice: a process of its own that asks, so that the attacker's work does not count as ours.

    python -m tests.attacks.probes ADDRESS SECONDS

Prints the seconds that each answer of `/healthz` took, as JSON. No answer within `PATIENCE` counts as that long.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence

EVERY = 0.05  # seconds
PATIENCE = 10.0  # seconds


class HealthProbe:
    """Asks `/healthz` twenty times a second, until it is told the time is over."""

    def __init__(self, address: str, seconds: float) -> None:
        command = [sys.executable, "-m", "tests.attacks.probes", address, str(seconds)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def taken(self) -> list[float]:
        told, _ = self._process.communicate()
        return json.loads(told)


def percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def ask(address: str, seconds: float) -> list[float]:
    taken = []
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=PATIENCE).close()
            took = time.monotonic() - began
        except OSError:
            took = PATIENCE
        taken.append(took)
        time.sleep(max(0.0, EVERY - took))
    return taken


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1], float(sys.argv[2]))))
