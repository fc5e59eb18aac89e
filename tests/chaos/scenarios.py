"""Small scripted runs, each of which hits one promise where it is thinnest, with the real processes and servers.

Every scenario is played as Punctual is, which must be clean, and with each deliberate defect it is meant to expose,
which must not be. A checker that never finds anything would pass every campaign; this shows that ours does.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.chaos import report
from tests.chaos.checker import Verdict, check
from tests.chaos.faults import Faults
from tests.chaos.history import History, export_rows, read_history
from tests.chaos.plan import DATABASE, FULL, RABBITMQ, REDIS, Cast, Planned
from tests.chaos.servers import Servers
from tests.chaos.stage import Stage, Timing
from tests.servers.private.process import ChildProcess

# Leases as short as a busy machine allows; patience with the queue far beyond the scenario, as in real life.
TIMING = Timing(lease=2.0, poll_lease=1.5, publish_patience=1.5, queue_patience=60.0, stop_grace=2.0)
SMALL = Cast(("poller-1",), ("executor-1", "executor-2"), ("recoverer-1",), web=(), loader=())
ONE_EXECUTOR = replace(SMALL, executors=("executor-1",))
TWO_POLLERS = replace(SMALL, pollers=("poller-1", "poller-2"))
PATIENCE = 20.0  # seconds for a trip to go off
DRAIN = 9.0  # seconds to come to rest: several times any lease or patience that matters here
QUICK = {"task": "chaos_alpha", "payload": {}}
# Due when all are known to the index: one that the poller finds in the database before its client has told the index
# of it would be told of, and so rescued, a second time.
SOON = QUICK | {"due_in": 1.5}
SLOW = {"task": "chaos_alpha", "payload": {"seconds": 0.4}}


ONE_FAILS = (
    *({"task": "chaos_alpha", "payload": {"seconds": 2.0}},) * 7,
    {"task": "chaos_alpha", "payload": {"seconds": 1.5, "fail_times": 1}},
)


class Play:
    """A scenario while it is played: what its script may do."""

    def __init__(self, stage: Stage, faults: Faults) -> None:
        self.stage = stage
        self.faults = faults

    def tripped(self, slot: str) -> int:
        """Wait until the process in `slot` has gone off at its trip; return its id."""
        mark = self.stage.folder / f"tripped-{slot}"
        self.wait_for(mark.exists, f"{slot} never came to its trip")
        return self.stage.fleet.first_pid[slot]

    def killed_itself(self, slot: str) -> None:
        pid = self.tripped(slot)
        self._log("kill", slot, pid, 0.0)

    def froze_itself(self, slot: str, seconds: float) -> None:
        """Leave the frozen process alone for so long, then wake it."""
        pid = self.tripped(slot)
        self._log("freeze", slot, pid, seconds)
        self.stage.fleet.signal(pid, signal.SIGCONT)

    def fault(self, kind: str, target: str, server: str = "", seconds: float = 0.0) -> None:
        self.faults.begin(Planned(0.0, kind, target, server, seconds))

    def count(self, condition: str) -> int:
        found = self.stage.ask(f"SELECT count(*) FROM jobs_execution WHERE {condition}")
        return found[0][0] if found else 0

    def wait_for(self, happened: Callable[[], object], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline:
                raise TimeoutError(complaint)
            time.sleep(0.05)

    def _log(self, kind: str, slot: str, pid: int, seconds: float) -> None:
        number = -pid  # apart from the numbers of planned faults
        begin = {"event": "begin", "number": number, "kind": kind, "target": slot, "server": "", "pid": pid}
        self.faults.journal.write(**begin)
        time.sleep(seconds)
        self.faults.journal.write(event="end", number=number, trouble="")


@dataclass(frozen=True)
class Scenario:
    name: str
    exposes: tuple[str, ...]
    script: Callable[[Play], None]
    orders: tuple[dict[str, Any], ...]
    cast: Cast = SMALL
    trips: dict[str, str] = field(default_factory=dict)
    late: tuple[str, ...] = ()  # slots that the script starts
    timing: Timing = TIMING
    concurrency: int = 2


def poller_dies(play: Play) -> None:
    play.killed_itself("poller-1")


def executor_dies(play: Play) -> None:
    play.killed_itself("executor-1")


def executor_freezes(play: Play) -> None:
    play.froze_itself("executor-1", TIMING.lease + 3)
    time.sleep(1.0)


def executor_freezes_claiming(play: Play) -> None:
    play.tripped("executor-1")
    play.stage.fleet.start_late("executor-2")
    play.froze_itself("executor-1", TIMING.lease + 4)
    time.sleep(1.0)


def executor_loses_its_connections(play: Play) -> None:
    """Between the claim and the work, and not for long: the lease is kept all the while."""
    play.tripped("executor-1")
    play.fault("backend_kill", "executor-1", DATABASE)
    play.froze_itself("executor-1", 0.5)


def broker_says_nothing(play: Play) -> None:
    """The broker does not confirm a retry; what completes meanwhile has nothing to do with that."""
    play.wait_for(lambda: play.count("status = 'RUNNING'") == len(ONE_FAILS), "they were not started")
    play.fault("link_mute", "executor-1", RABBITMQ, 7.0)
    time.sleep(5.5)
    play.fault("kill", "executor-1")
    time.sleep(1.0)


def poller_freezes(play: Play) -> None:
    play.tripped("poller-1")
    play.stage.fleet.start_late("poller-2")
    play.froze_itself("poller-1", TIMING.poll_lease + 4)
    time.sleep(1.5)


def executors_come_late(play: Play) -> None:
    play.killed_itself("poller-1")
    time.sleep(TIMING.publish_patience + 2)  # the recoverer sends what nobody noted a second time
    for slot in SMALL.executors:
        play.stage.fleet.start_late(slot)
    play.wait_for(lambda: play.count("status = 'COMPLETED'"), "nothing was executed")
    time.sleep(1.0)


def redis_is_emptied(play: Play) -> None:
    play.wait_for(lambda: play.stage.ask("SELECT 1 FROM jobs_job"), "no job was stored")
    play.wait_for(lambda: play.count("status = 'COMPLETED'"), "the poller never started")
    play.fault("redis_flush", REDIS, REDIS)


def broker_is_away_at_the_failure(play: Play) -> None:
    play.wait_for(lambda: play.count("status = 'RUNNING'"), "nothing was started")
    play.fault("link_unplug", "executor-1", RABBITMQ, 3.0)
    time.sleep(3.0)


def nothing_special(play: Play) -> None:
    play.wait_for(lambda: play.count("finished_at IS NOT NULL"), "nothing was executed")


SCENARIOS = (
    Scenario(
        "poller_killed_after_leasing",
        ("pop_without_lease",),
        poller_dies,
        (SOON,) * 5,
        trips={"poller-1": "leased:kill"},
    ),
    Scenario(
        "poller_killed_after_settling",
        ("settle_before_record",),
        poller_dies,
        (SOON,) * 5,
        trips={"poller-1": "settled:kill"},
    ),
    Scenario(
        "poller_killed_in_its_transaction",
        ("next_run_not_in_same_transaction",),
        poller_dies,
        (SOON,) * 5,
        trips={"poller-1": "next_runs_written:kill"},
    ),
    Scenario(
        "poller_killed_after_marking",
        ("publish_after_marking",),
        poller_dies,
        (SOON,) * 5,
        trips={"poller-1": "marked:kill"},
    ),
    Scenario(
        "poller_frozen_after_leasing",
        ("no_derived_id",),
        poller_freezes,
        (SOON,) * 3,
        cast=TWO_POLLERS,
        trips={"poller-1": "leased:freeze"},
        late=("poller-2",),
    ),
    Scenario(
        "sent_twice",
        ("claim_without_guard",),
        executors_come_late,
        (SLOW,) * 3,
        trips={"poller-1": "published:kill"},
        late=SMALL.executors,
        concurrency=1,
    ),
    Scenario(
        "executor_killed_before_claiming",
        ("ack_before_claim",),
        executor_dies,
        (QUICK,) * 4,
        cast=ONE_EXECUTOR,
        trips={"executor-1": "offered:kill"},
    ),
    Scenario(
        "executor_killed_at_work",
        ("recoverer_off", "lease_of_a_day", "cohort_forgotten"),
        executor_dies,
        (QUICK,) * 4,
        trips={"executor-1": "running:kill"},
    ),
    Scenario(
        "executor_frozen_after_its_work",
        ("no_fencing", "attempt_counted_at_end"),
        executor_freezes,
        (SLOW,) * 6,
        trips={"executor-1": "ran:freeze"},
    ),
    Scenario(
        "executor_frozen_while_claiming",
        (),
        executor_freezes_claiming,
        ({"task": "chaos_alpha", "payload": {"seconds": 9.0}},),
        trips={"executor-1": "claimed:freeze"},
        late=("executor-2",),
        concurrency=1,  # and so prefetch: what is sent again must not wait with the frozen one
    ),
    Scenario(
        "executor_without_database_before_its_work",
        (),
        executor_loses_its_connections,
        ({**QUICK, "due_in": 3.0, "own_lease": 4.0},),
        trips={"executor-1": "read:freeze"},
        cast=ONE_EXECUTOR,
    ),
    Scenario(
        "broker_silent_when_the_executor_is_killed",
        (),
        broker_says_nothing,
        ONE_FAILS,
        cast=ONE_EXECUTOR,
        concurrency=8,
    ),
    Scenario(
        "long_work",
        ("heartbeat_off",),
        nothing_special,
        ({"task": "chaos_beta", "payload": {"seconds": 5.0}},),
    ),
    Scenario(
        "redis_emptied",
        ("no_wipe_marker",),
        redis_is_emptied,
        (QUICK, *({"task": "chaos_alpha", "payload": {}, "due_in": 7.0},) * 3),
    ),
    Scenario(
        "broker_away_at_a_failure",
        ("retry_without_wake_at",),
        broker_is_away_at_the_failure,
        ({"task": "chaos_alpha", "payload": {"seconds": 1.5, "fail_times": 1}},) * 2,
        cast=ONE_EXECUTOR,
    ),
)


def show_all(only: list[str]) -> int:
    """Play every scenario without and with its defects; a line for each variant, and one for all."""
    caught: dict[str, bool] = {}
    controls: dict[str, bool] = {}
    with Servers(FULL.servers) as servers:
        for scenario in SCENARIOS:
            names = [name for name in scenario.exposes if not only or name in only or scenario.name in only]
            if not names and only and scenario.name not in only:
                continue
            controls[scenario.name] = _tell(scenario, "", servers)
            for name in names:
                caught[name] = not _tell(scenario, name, servers)
    if dirty := [name for name, clean in controls.items() if not clean]:
        print(f"NOT clean without any defect: {', '.join(dirty)}", flush=True)
    print(f"controls clean={len(controls) - len(dirty)}/{len(controls)}", flush=True)
    print(f"variants caught={sum(caught.values())}/{len(caught)}", flush=True)
    return 0 if all(caught.values()) and not dirty else 1


def _tell(scenario: Scenario, variant: str, servers: Servers) -> bool:
    """Play it and say what was found; whether it was clean."""
    began = time.monotonic()
    history, verdict, folder = play(scenario, variant, servers)
    counts = " ".join(
        f"{name}={len(getattr(verdict, name))}" for name in ("lost", "duplicate_rows", "stale_writes", "unexplained")
    )
    if variant:
        word = "NOT caught" if verdict.clean else "caught"
        line = f"variant {variant}: {word} in {scenario.name}: {counts}"
    else:
        line = f"control {scenario.name}: {'clean' if verdict.clean else 'NOT clean'}: {counts}"
    print(f"{line} ({time.monotonic() - began:.0f} s)", flush=True)
    for _, finding in list(verdict.all())[:1] if variant else []:
        print(f"    {finding.what}", flush=True)
    expected = verdict.clean != bool(variant)
    if expected:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print("\n".join(report.findings(history, verdict, folder) or [f"    kept in {folder}"]), flush=True)
    return verdict.clean


def play(scenario: Scenario, variant: str, servers: Servers) -> tuple[History, Verdict, Path]:
    folder = Path(tempfile.mkdtemp(prefix="punctual-chaos-scenario-"))
    name = f"{scenario.name}_{variant or 'control'}"[:60]
    stage = Stage(
        servers,
        replace(scenario.cast, servers=FULL.servers),
        folder,
        name,
        scenario.timing,
        concurrency=scenario.concurrency,
        extra={"CHAOS_VARIANT": variant} if variant else {},
        trips=scenario.trips,
    )
    faults = Faults(stage)
    (folder / "logs").mkdir(exist_ok=True)
    client = ChildProcess(
        [sys.executable, "-m", "tests.chaos.orders", json.dumps(scenario.orders)],
        log=folder / "logs" / "client.log",
        env=stage.env("client") | {"CHAOS_VARIANT": ""},
        cwd=Path(os.getcwd()),
    )
    try:
        stage.fleet.start(late=scenario.late)
        if client.finish(30):
            raise RuntimeError(f"The orders were refused: {client.last_words()}")
        try:
            scenario.script(Play(stage, faults))
        except TimeoutError as error:  # with a defect on, this may be how it shows: the checker will say
            print(f"    {scenario.name}: {error}", flush=True)
        deadline = time.monotonic() + DRAIN
        while stage.unfinished() != 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)  # for a second run of what has run already
        export_rows(stage.direct, folder)  # before processes are told to end, and give back what they sit on
    finally:
        faults.end()
        client.stop()
        stage.fleet.stop()
    history = read_history(folder, scenario.timing)
    return history, check(history), folder
