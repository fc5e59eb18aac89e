"""How many executions a second: `python -m benchmarks.throughput [JOBS] [EXECUTORS] [POLLERS]`.

Stores jobs that are all due at one instant, and measures from that instant until the last one is written as
completed, in the mode that DATABASE_URL, REDIS_URL and AMQP_URL describe. A round before that lets every process
warm up, and the executors find out how long the task takes. In full mode the bare pipeline of `benchmarks.bare` takes
turns with ours.
"""

from __future__ import annotations

import json
import os
import sys
import time
from statistics import median

from benchmarks.cpu import cpu_seconds
from benchmarks.fleet import TASK, Fleet, fleet

HISTORY = 200_000  # executions stored before: a table nobody has used is no measure of one that is in use
WARM_UP = 3_000  # jobs
AHEAD = 1.0  # seconds between the storing of the jobs and their due time
PATIENCE = 300  # seconds
TOLD_AFTER = 2.5  # seconds until the pollers have heard from the executors how long the task takes
ROUNDS = 3
LOOK = 0.25  # seconds between looks whether all is done
BARE_POSSIBLE = bool(os.environ.get("REDIS_URL") and os.environ.get("AMQP_URL"))
DEFAULTS = (20_000, 1, 1)  # jobs, executors, pollers
# Cheap, because it is asked again and again while others are being measured: both are in small indexes.
UNDONE = """
    SELECT (SELECT count(*) FROM jobs_job WHERE next_run_at IS NOT NULL)
        + (SELECT count(*) FROM jobs_execution WHERE wake_at IS NOT NULL)
"""
ROUND = """
    SELECT count(*), extract(epoch FROM max(finished_at)), extract(epoch FROM max(started_at)) FROM jobs_execution
    WHERE due_at = to_timestamp(%s) AND status = 'COMPLETED'
"""


def measure(on: Fleet, jobs: int) -> dict[str, float]:
    """Run a round: executions a second, and when the last one was started after the due time."""
    due = float(on.run("-m", "benchmarks.load", "jobs", str(jobs), str(AHEAD + jobs / 5_000)))
    deadline = time.monotonic() + PATIENCE
    time.sleep(max(0.0, due - time.time()))
    before = cpu_seconds()
    with on.connect() as connection:
        while left := connection.execute(UNDONE).fetchone()[0]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} of {jobs} were not completed within {PATIENCE} s.")
            time.sleep(LOOK)
        spent = cpu_seconds() - before
        done, finished, started = connection.execute(ROUND, [due]).fetchone()
    if done != jobs:
        raise RuntimeError(f"{done} of {jobs} were completed.")
    return {
        "executions_per_s": jobs / (float(finished) - due),
        "all_started_s": float(started) - due,
        **{f"{kind}_us": seconds / jobs * 1e6 for kind, seconds in sorted(spent.items())},
    }


def main(jobs: int, executors: int, pollers: int) -> None:
    """Rounds of ours and of the bare pipeline in turn, so that what the machine does meanwhile hits both."""
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    with fleet() as on:
        on.run("-m", "benchmarks.load", "history", str(HISTORY))
        on.start_executors(executors)
        on.start_pollers(pollers)
        measure(on, WARM_UP)
        time.sleep(TOLD_AFTER)
        for _ in range(ROUNDS):
            measure(on, WARM_UP)
            ours.append(measure(on, jobs))
            on.stop()
            if BARE_POSSIBLE:
                on.start("-m", "benchmarks.bare", "poll")
                on.start("-m", "benchmarks.bare", "execute", TASK)
                measure(on, WARM_UP)
                bare.append(measure(on, jobs))
                on.stop()
            on.start_executors(executors)
            on.start_pollers(pollers)
    for name, rounds in (("ours", ours), ("bare pipeline", bare)):
        if rounds:
            print(name, json.dumps({key: round(median(one.get(key, 0) for one in rounds), 2) for key in rounds[0]}))
            print(name, "rounds", [round(one["executions_per_s"]) for one in rounds])
    if bare:
        ratio = median(one["executions_per_s"] for one in ours) / median(one["executions_per_s"] for one in bare)
        print("vs_bare_pipeline", round(ratio, 2))


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*given, *DEFAULTS[len(given) :])
