"""How soon a single job on an idle system is done: `python -m benchmarks.lone_job [COUNT]`.

Measures, in the mode that DATABASE_URL, REDIS_URL and AMQP_URL describe, from the moment the
POST is sent to the execution's `finished_at`, mail written. Everything is on one machine, so there is
one clock.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from datetime import datetime

from benchmarks.scratch import running_system
from tests.whole.person import Person

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}


def measure(client: Person) -> tuple[float, float]:
    """Seconds from POST to finished, and from due to started."""
    posted = time.time()
    job = client.ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL})
    while True:
        found = client.ask("GET", f"/api/v1/jobs/{job['id']}/executions")["results"]
        if found and found[0]["status"] == "COMPLETED":
            break
        time.sleep(0.05)
    due, started, finished = (
        datetime.fromisoformat(found[0][moment]).timestamp() for moment in ("due_at", "started_at", "finished_at")
    )
    return finished - posted, started - due


def main(count: int) -> None:
    with running_system() as client:
        measure(client)  # the first one warms up caches and connections
        whole, start = [], []
        for _ in range(count):
            time.sleep(random.uniform(0.1, 0.3))  # so as not to fall in step with the poller's naps
            seconds, lateness = measure(client)
            whole.append(seconds)
            start.append(lateness)
    figures = {
        "jobs": count,
        "post_to_finished_p50_ms": round(statistics.median(whole) * 1000),
        "post_to_finished_max_ms": round(max(whole) * 1000),
        "due_to_started_p50_ms": round(statistics.median(start) * 1000),
        "due_to_started_max_ms": round(max(start) * 1000),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
