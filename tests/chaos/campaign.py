"""One campaign: a system, a load, faults for a while, then quiet until all is drained, then the judgement."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.checker import Verdict, check
from tests.chaos.faults import Faults
from tests.chaos.history import History, export_rows, read_history
from tests.chaos.plan import FULL, ONE_DATABASE, plan
from tests.chaos.servers import Servers
from tests.chaos.stage import Stage, Timing
from tests.servers.private.process import ChildProcess

CASTS = {"full": FULL, "database": ONE_DATABASE}
PROGRESS_EVERY = 5.0  # seconds
READY_PATIENCE = 40.0  # seconds until the first executions are done
DRAIN_PATIENCE = 120.0  # seconds for everything to come to its end after the last fault
SHARE_OF_INTERVALS = 0.35  # of the executions


@dataclass
class Outcome:
    history: History
    verdict: Verdict
    folder: Path


def run(mode: str, *, seed: int, seconds: float, rate: float, variant: str = "") -> Outcome:
    """Run a campaign in one mode. The folder stays; whoever is content with the verdict removes it."""
    folder = Path(tempfile.mkdtemp(prefix=f"punctual-chaos-{mode}-"))
    cast = CASTS[mode]
    timing = Timing()
    say(f"{mode}: starting servers")
    with Servers(cast.servers) as servers:
        stage = Stage(servers, cast, folder, "chaos", timing, extra={"CHAOS_VARIANT": variant} if variant else {})
        faults = Faults(stage)
        loader = _loader(stage, seed, rate)
        try:
            stage.fleet.start()
            _wait_until_ready(stage)
            planned = plan(seed, seconds, cast, lease=timing.lease, poll_lease=timing.poll_lease)
            say(f"{mode}: {len(planned)} faults planned in {seconds:g} s")
            _break_things(stage, faults, planned, seconds)
            _drain(stage, loader)
        finally:
            faults.end()
            loader.stop(grace=5)
            stage.fleet.stop()
        if not servers.by_name["database"].running:
            servers.by_name["database"].start()
        export_rows(stage.direct, folder)
    history = read_history(folder, timing)
    return Outcome(history, check(history), folder)


def say(line: str) -> None:
    print(line, flush=True)


def _loader(stage: Stage, seed: int, rate: float) -> ChildProcess:
    intervals = max(
        1, round(rate * SHARE_OF_INTERVALS / (5 / 6))
    )  # of three jobs, two are due each second, one each other
    env = stage.env("loader") | {
        "CHAOS_SEED": str(seed),
        "CHAOS_RATE": str(rate * (1 - SHARE_OF_INTERVALS)),
        "CHAOS_INTERVALS": str(intervals),
    }
    env.pop("CHAOS_VARIANT", None)
    (stage.folder / "logs").mkdir(exist_ok=True)
    return ChildProcess([sys.executable, "-m", "tests.chaos.loader"], log=stage.folder / "logs" / "loader.log", env=env)


def _wait_until_ready(stage: Stage) -> None:
    deadline = time.monotonic() + READY_PATIENCE
    while time.monotonic() < deadline:
        found = stage.ask("SELECT count(*) FROM jobs_execution WHERE status = 'COMPLETED'")
        if found and found[0][0] > 20:
            return
        time.sleep(0.2)
    raise RuntimeError(f"Nothing was executed within {READY_PATIENCE:g} s. Look at the logs in {stage.folder}/logs.")


def _break_things(stage: Stage, faults: Faults, planned: list, seconds: float) -> None:
    start = time.monotonic()
    thread = threading.Thread(target=faults.carry_out, args=[planned], kwargs={"start": start}, daemon=True)
    thread.start()
    while (past := time.monotonic() - start) < seconds:
        time.sleep(min(PROGRESS_EVERY, seconds - past))
        _progress(stage, faults, time.monotonic() - start)
    faults.end()
    thread.join()


def _drain(stage: Stage, loader: ChildProcess) -> None:
    loader_ends = time.monotonic() + 45
    if loader.exit_code() is None:
        loader._signal(signal.SIGTERM)
    with suppress(TimeoutError):
        loader.wait(max(1.0, loader_ends - time.monotonic()))
    began = time.monotonic()
    deadline = began + DRAIN_PATIENCE
    said = began
    while (left := stage.unfinished()) != 0 and time.monotonic() < deadline:
        if time.monotonic() - said > PROGRESS_EVERY:
            said = time.monotonic()
            say(f"  draining: {left} left")
        time.sleep(0.3)
    say(f"  drained in {time.monotonic() - began:.1f} s" if left == 0 else f"  NOT drained: {left} left")


def _progress(stage: Stage, faults: Faults, past: float) -> None:
    found = stage.ask("SELECT status, count(*) FROM jobs_execution GROUP BY status ORDER BY status")
    told = "the database is down" if found is None else " ".join(f"{status.lower()}={count}" for status, count in found)
    say(f"  {past:5.0f} s  faults={faults.begun} {told}")
