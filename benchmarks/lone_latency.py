"""How late a lone job starts on an idle system: from its due time to its start, by the rows.

The jobs are stored before, for times that are in step with nothing. What is measured is the poller's nap, the message
and the claim; the sibling `lone_job` measures from a person's POST to a written mail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.fleet import fleet
from benchmarks.sizes import Sizes
from benchmarks.starts import lateness

WARM_UP = 5  # jobs before those that count
FROM_NOW = 5.0  # seconds until the first one: the processes are started meanwhile


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    jobs = WARM_UP + sizes.lone
    with fleet() as on:
        on.start_executors()
        on.start_pollers()
        due = json.loads(on.run("-m", "benchmarks.load", "lone", str(jobs), str(FROM_NOW)))
        late = lateness(on, due[0], due[-1], jobs)[WARM_UP:]
    say(f"{median(late) * 1000:.0f} ms from due to started")
    return {
        "jobs": sizes.lone,
        "p50_ms": round(median(late) * 1000, 1),
        "max_ms": round(max(late) * 1000, 1),
    }
