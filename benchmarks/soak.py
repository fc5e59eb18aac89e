"""Half an hour of `manage.py simulate`: no role's memory may grow, nothing may start later and later, and history goes.

Everything an installation has is running: web, poller, executor, recoverer, watcher. What is over for five minutes is
pruned, and somebody lets go of dead letters each minute, as `python -m benchmarks.soak` does inside an installation. So
what is kept settles after a quarter of an hour, and has to stay where it is.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from statistics import mean
from typing import Any

import django
import psycopg

from benchmarks.fleet import SIMULATED, Fleet, fleet
from benchmarks.memory import visitor
from benchmarks.resident import resident
from benchmarks.sizes import Sizes
from jobs.ids import lowest_id

KINDS = ("poller", "executor", "recoverer", "watcher", "web")  # in the order in which they are started
PRUNED = ("HISTORY_KEPT", "AUDIT_KEPT", "JOBS_KEPT", "WORDS_KEPT", "IDEMPOTENCY_KEPT")
THREADS = 48  # of the executor: some fifteen are always taken by what is slow
BEHIND = timedelta(seconds=15)  # what is younger may not have started yet
PATIENCE = 120  # seconds for the last to end
ENDING = 300  # seconds for its report
LATENESS = """
    SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY late),
        percentile_cont(0.99) WITHIN GROUP (ORDER BY late)
    FROM (SELECT extract(epoch FROM started_at - not_before)::float AS late FROM jobs_execution
        WHERE id >= %s AND id < %s AND attempt = 1 AND started_at IS NOT NULL) AS started
"""
HELD = """
    SELECT (SELECT count(*) FROM jobs_execution), (SELECT count(*) FROM jobs_job),
        pg_total_relation_size('jobs_execution') / 1048576.0
"""


# What a mean over the last third of the run may be, in means over the third before it: noise, but no growth.
MOST_MEMORY = 1.03
MOST_KEPT = 1.1
MOST_LATENESS = 1.5
UNNOTICED = 0.05  # seconds: who starts within that is on time, whatever it was before


def grown(soak: Mapping[str, Any]) -> list[str]:
    """What has not stayed where it was, with how much it was and is."""
    looked_at = {f"memory of the {kind}": (mb, MOST_MEMORY) for kind, mb in soak["mb"].items()}
    looked_at |= {name: (soak[name], MOST_KEPT) for name in ("executions", "jobs", "table_mb")}
    looked_at["p99_s"] = ([max(late, UNNOTICED) for late in soak["p99_s"]], MOST_LATENESS)
    told = []
    for name, (values, most) in looked_at.items():
        third = len(values) // 3
        before, last = mean(values[-2 * third : -third]), mean(values[-third:])
        if last > before * most:
            told.append(f"{name}: {before:,.2f} in the second third of the run, {last:,.2f} in the last one")
    return told


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    pruned = dict.fromkeys(PRUNED, str(sizes.soak_kept))
    with fleet(DEMO="true", LOG_LEVEL="ERROR", **pruned) as on:  # what fails on purpose need not be told
        on.start_pollers()
        on.start_executors(concurrency=THREADS, tasks=SIMULATED)
        on.start_recoverer()
        on.start_watcher()
        address = on.start_web()
        seconds = sizes.soak_looks * sizes.soak_every
        command = ["manage.py", "simulate", "--rate", str(sizes.soak_rate), "--seconds", str(seconds)]
        with beside(on.env, *command, "--patience", str(PATIENCE)) as simulation:
            with visitor(address):
                told = _looked_at(on, sizes, say)
            if simulation.wait(PATIENCE + ENDING):
                raise RuntimeError(f"simulate ended with status {simulation.returncode}.")
    for one in grown(told):
        say(f"GROWN: {one}")
    return {"per_s": sizes.soak_rate, "kept_s": sizes.soak_kept, **told}


@contextmanager
def beside(env: Mapping[str, str], *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python command that runs beside the block, and not after it: however that ends, its database goes next."""
    process = subprocess.Popen([sys.executable, *command], env=env)
    try:
        yield process
    finally:
        process.kill()  # which is nothing to one that has ended
        process.wait()


def _looked_at(on: Fleet, sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    begun = time.monotonic()
    told: dict[str, Any] = {"at_s": [], "mb": {}}
    with on.connect() as connection:
        [vacuumed] = connection.execute("SHOW autovacuum").fetchone() or ["?"]
        for look in range(1, sizes.soak_looks + 1):
            time.sleep(max(0.0, begun + look * sizes.soak_every - time.monotonic()))
            on.check()
            told["at_s"].append(round(time.monotonic() - begun, 1))
            for kind, held in resident(zip(KINDS, on.pids, strict=True)).items():
                told["mb"].setdefault(kind, []).append(held)
            for name, value in _asked(connection, timedelta(seconds=sizes.soak_every)).items():
                told.setdefault(name, []).append(value)
            on.run("-m", "benchmarks.soak")
            say(
                f"minute {told['at_s'][-1] / 60:.1f}: p99 {told['p99_s'][-1]:.3f} s late, "
                f"{told['executions'][-1]:,} kept, {sum(mb[-1] for mb in told['mb'].values()):,.0f} MB"
            )
    return told | {"autovacuum": vacuumed}


def let_go() -> int:
    """Discard the dead letters of the last while, as somebody does who has looked at them."""
    django.setup()
    from jobs.dead_letters import MOST_AT_ONCE, discard
    from jobs.models import Execution

    return discard(Execution.objects.all(), actor=None, reason="a simulated failure", most=MOST_AT_ONCE)


def _asked(connection: psycopg.Connection, span: timedelta) -> dict[str, float]:
    """How late what was due in the last while has started, and how much is kept."""
    until = datetime.now(UTC) - BEHIND
    ids = [lowest_id(until - span), lowest_id(until)]
    [started, middle, late] = connection.execute(LATENESS, ids).fetchone() or [0, 0.0, 0.0]
    [executions, jobs, megabytes] = connection.execute(HELD).fetchone() or [0, 0, 0.0]
    return {
        "started": started,
        "p50_s": round(middle or 0.0, 4),
        "p99_s": round(late or 0.0, 4),
        "executions": executions,
        "jobs": jobs,
        "table_mb": round(float(megabytes), 1),
    }


if __name__ == "__main__":
    print(let_go())
