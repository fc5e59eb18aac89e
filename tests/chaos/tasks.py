"""Handlers that keep their own log of what really ran, without the database that is under test.

Each process has a file of its own, named by its process id; each line names the executor it belongs to as well,
since handlers may run in children. The result carries the attempt's number, so that a row can be asked later whose
answer it holds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from execution.registry import Run, task
from tests.chaos.journal import Journal

SLOT = os.environ.get("CHAOS_SLOT", "")


class Deed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    seconds: float = 0
    fail_times: int = 0  # attempts up to this number fail
    always_fails: bool = False
    edited: int = 0  # how often the job was edited: only there to be changed


class Refused(Exception):
    """The failure that the payload asked for."""


trips: dict[str, Callable[[], None]] = {}  # what happens at a point that a handler reaches


def reached(point: str) -> None:
    if point in trips:
        trips[point]()


@cache
def _journal(pid: int) -> Journal:
    return Journal(Path(os.environ["CHAOS_FOLDER"]) / "handlers" / f"{pid}.jsonl")


def act(deed: Deed, run: Run) -> dict[str, Any]:
    pid = os.getpid()
    owner = int(os.environ["CHAOS_OWNER"])
    who = {"execution": str(run.execution_id), "attempt": run.attempt, "pid": owner, "slot": SLOT}
    journal = _journal(pid)
    journal.write(event="start", **who)
    reached("running")
    if deed.seconds:
        time.sleep(deed.seconds)
    if deed.always_fails or run.attempt <= deed.fail_times:
        journal.write(event="end", what="failed", **who)
        raise Refused(f"attempt {run.attempt} was asked to fail")
    journal.write(event="end", what="completed", **who)
    reached("ran")
    return {"attempt": run.attempt, "pid": pid}


TASKS = ("chaos_alpha", "chaos_beta", "chaos_gamma")
for name in TASKS:
    task(name, payload=Deed)(act)
