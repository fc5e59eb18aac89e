"""One round: jobs that are all due at one instant, measured until the last one is written as completed.

Clocks are those of the rows, as everything is on one machine. The jobs are stored before they are due, so that storing
them is no part of the round.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from benchmarks.cpu import cpu_seconds
from benchmarks.fleet import Fleet

AHEAD = 4.0  # seconds, of which the process that stores the jobs needs some to start
STORED_PER_S = 2_500  # jobs, on a slow day
PATIENCE = 300  # seconds
LOOK = 0.25  # seconds between looks whether all is done
# Cheap, because it is asked again and again while it is measured: by small indexes, and the last of it last.
UNDONE = """
    SELECT EXISTS (SELECT FROM jobs_job WHERE next_run_at IS NOT NULL)
        OR EXISTS (SELECT FROM jobs_execution WHERE look_at IS NOT NULL)
        OR EXISTS (SELECT FROM jobs_execution WHERE wake_at IS NOT NULL
            AND id = ANY(ARRAY(SELECT unnest(executions) FROM jobs_cohort)))
"""
DONE = """
    SELECT count(*), extract(epoch FROM max(finished_at)), extract(epoch FROM max(started_at)) FROM jobs_execution
    WHERE due_at = to_timestamp(%s) AND status = 'COMPLETED'
"""


@dataclass(frozen=True)
class Burst:
    executions_per_s: float
    all_started_s: float  # from the due time to the start of the last one
    cpu_us: dict[str, float]  # microseconds an execution, by kind of process


def notice(jobs: int) -> float:
    """How many seconds from now so many jobs may be due, and still be stored before."""
    return AHEAD + jobs / STORED_PER_S


def burst(on: Fleet, jobs: int) -> Burst:
    due = float(on.run("-m", "benchmarks.load", "jobs", str(jobs), str(notice(jobs))))
    if time.time() > due:  # then storing them would be part of what is measured
        raise RuntimeError(f"{jobs} jobs took longer to store than the {notice(jobs):.0f} s they were given.")
    deadline = time.monotonic() + PATIENCE
    time.sleep(max(0.0, due - time.time()))
    before = cpu_seconds()
    with on.connect() as connection:
        while connection.execute(UNDONE).fetchone()[0]:
            on.check()
            if time.monotonic() > deadline:
                done = connection.execute(DONE, [due]).fetchone()[0]
                raise TimeoutError(f"{jobs - done} of {jobs} were not completed within {PATIENCE} s.")
            time.sleep(LOOK)
        spent = cpu_seconds() - before
        done, finished, started = connection.execute(DONE, [due]).fetchone()
    if done != jobs:
        raise RuntimeError(f"{done} of {jobs} were completed.")
    return Burst(
        executions_per_s=jobs / (float(finished) - due),
        all_started_s=float(started) - due,
        cpu_us={kind: seconds / jobs * 1e6 for kind, seconds in sorted(spent.items())},
    )


def rate(rounds: list[Burst]) -> float:
    return median(one.executions_per_s for one in rounds)


def summary(rounds: list[Burst]) -> dict[str, object]:
    """Medians over the rounds, and what the rounds were."""
    kinds = {kind for one in rounds for kind in one.cpu_us}
    return {
        "executions_per_s": round(rate(rounds), 1),
        "rounds": [round(one.executions_per_s) for one in rounds],
        "all_started_s": round(median(one.all_started_s for one in rounds), 3),
        "cpu_us": {kind: round(median(one.cpu_us.get(kind, 0) for one in rounds), 1) for kind in sorted(kinds)},
    }
