"""What happened, from four sources that know nothing of each other, as plain values for the checker.

Promises (the loader's log), deeds (the handlers' logs), the truth (rows of the database), and what was broken
when (the log of faults and of processes). All times are seconds since the epoch, on one machine and one clock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos import journal
from tests.chaos.stage import Timing


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job whose creation was acknowledged."""

    job: str
    kind: str
    at: float
    via: str = "services"
    execution: str = ""  # where one was promised by name: "run now"


@dataclass(frozen=True, slots=True)
class Act:
    """Something asked of a job afterwards. `done` is None when no answer came: it may or may not have happened."""

    job: str
    verb: str
    asked: float
    done: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A handler's call, told by itself. `ended` is None when it never came to its end."""

    execution: str
    attempt: int
    pid: int
    slot: str
    began: float
    ended: float | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    target: str
    begin: float
    end: float
    server: str = ""
    pid: int | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A process, from its start to its end."""

    slot: str
    pid: int
    began: float
    ended: float | None


@dataclass(frozen=True, slots=True)
class JobRow:
    id: str
    status: str
    schedule: dict[str, Any]
    next_run_at: float | None = None


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    id: str
    job: str
    status: str
    attempt: int
    due_at: float
    recorded_at: float
    cause: str = "schedule"
    finished_at: float | None = None
    wake_at: float | None = None
    worker: str = ""
    result: Any = None
    error: str = ""
    reason: str = ""
    covers_until: float | None = None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    execution: str
    number: int
    outcome: str
    worker: str
    started_at: float | None
    finished_at: float

    @property
    def pid(self) -> int:
        """Workers are named by machine and process."""
        return int(self.worker.rpartition("-")[2] or 0)


@dataclass
class History:
    accepted: list[Accepted] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lifetimes: list[Lifetime] = field(default_factory=list)
    jobs: list[JobRow] = field(default_factory=list)
    executions: list[ExecutionRow] = field(default_factory=list)
    attempts: list[AttemptRow] = field(default_factory=list)
    timing: Timing = field(default_factory=Timing)


QUERIES = {
    "jobs": "SELECT id::text, status, schedule, extract(epoch FROM next_run_at)::float8 FROM jobs_job",
    "executions": """
        SELECT id::text, job_id::text, status, attempt, extract(epoch FROM due_at)::float8,
            extract(epoch FROM recorded_at)::float8, cause, extract(epoch FROM finished_at)::float8,
            extract(epoch FROM wake_at)::float8, worker, result, error, reason,
            extract(epoch FROM covers_until)::float8
        FROM jobs_execution ORDER BY id
    """,
    "attempts": """
        SELECT execution_id::text, number, outcome, worker, extract(epoch FROM started_at)::float8,
            extract(epoch FROM finished_at)::float8
        FROM jobs_attempt ORDER BY execution_id, number
    """,
}


def export_rows(database: str, folder: Path) -> None:
    """Keep what the database says, for the checker and for whoever wants to look later."""
    with psycopg.connect(database) as connection:
        rows = {name: connection.execute(query).fetchall() for name, query in QUERIES.items()}
    (folder / "rows.json").write_text(json.dumps(rows))


def read_history(folder: Path, timing: Timing) -> History:
    rows = json.loads((folder / "rows.json").read_text())
    promises = list(journal.read(folder / "accepted.jsonl"))
    return History(
        accepted=[
            Accepted(line["job"], line["kind"], line["wall"], line["via"], line.get("execution", ""))
            for line in promises
            if line["event"] == "accepted"
        ],
        acts=_acts(promises),
        runs=[run for path in sorted((folder / "handlers").glob("*.jsonl")) for run in _runs(path)],
        faults=_faults(folder / "faults.jsonl"),
        lifetimes=_lifetimes(folder / "processes.jsonl"),
        jobs=[JobRow(*row) for row in rows["jobs"]],
        executions=[ExecutionRow(*row) for row in rows["executions"]],
        attempts=[AttemptRow(*row) for row in rows["attempts"]],
        timing=timing,
    )


def _acts(promises: list[dict[str, Any]]) -> list[Act]:
    open_: dict[tuple[str, str], float] = {}
    acts = []
    for line in promises:
        if "verb" not in line:
            continue
        key = line["job"], line["verb"]
        if line["event"] == "asked":
            if key in open_:
                acts.append(Act(*key, open_[key], None))
            open_[key] = line["wall"]
        else:
            acts.append(Act(*key, open_.pop(key), line["wall"]))
    return acts + [Act(*key, asked, None) for key, asked in open_.items()]


def _runs(path: Path) -> list[Run]:
    """Starts joined with their ends. One thread may start what another has, so each start is kept."""
    runs: list[Run] = []
    open_: dict[tuple[str, int], int] = {}
    for line in journal.read(path):
        key = line["execution"], line["attempt"]
        if line["event"] == "start":
            open_[key] = len(runs)
            runs.append(Run(*key, line["pid"], line["slot"], line["wall"]))
        elif key in open_:
            place = open_.pop(key)
            begun = runs[place]
            runs[place] = Run(*key, begun.pid, begun.slot, begun.began, line["wall"], line["what"])
    return runs


def _faults(path: Path) -> list[Fault]:
    begun: dict[int, dict[str, Any]] = {}
    faults = []
    for line in journal.read(path):
        if line["event"] == "begin":
            begun[line["number"]] = line
        else:
            first = begun.pop(line["number"])
            faults.append(_fault(first, line["wall"], line["trouble"]))
    return faults + [_fault(first, float("inf"), "never ended") for first in begun.values()]


def _fault(first: dict[str, Any], end: float, trouble: str) -> Fault:
    return Fault(first["kind"], first["target"], first["wall"], end, first["server"], first["pid"], trouble)


def _lifetimes(path: Path) -> list[Lifetime]:
    lives: dict[int, Lifetime] = {}
    for line in journal.read(path):
        if line["event"] == "started":
            lives[line["pid"]] = Lifetime(line["slot"], line["pid"], line["wall"], None)
        elif line["event"] == "ended":
            life = lives[line["pid"]]
            lives[line["pid"]] = Lifetime(life.slot, life.pid, life.began, line["wall"])
    return list(lives.values())
