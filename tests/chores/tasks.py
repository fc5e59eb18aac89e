"""Tasks that nap, loop, crash or will not end, for the tests' own processes."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from execution.registry import Run, task


class Nap(BaseModel):
    seconds: float = 0


class Nothing(BaseModel):
    pass


class Note(BaseModel):
    file: str


@task("nap", payload=Nap)
def nap(payload: Nap, run: Run) -> None:
    """Wait in C code, as a driver without a timeout does: nothing but the end of the process stops it."""
    time.sleep(payload.seconds)


@task("loop", payload=Nothing, time_limit=timedelta(seconds=0.5), max_retries=0)
def loop(payload: Nothing, run: Run) -> None:
    while True:
        pass


@task("stubborn", payload=Nothing, time_limit=timedelta(seconds=0.5), max_retries=0)
def stubborn(payload: Nothing, run: Run) -> None:
    """Catch everything, and go on."""
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


@task("crash", payload=Nothing, max_retries=2)
def crash(payload: Nothing, run: Run) -> None:
    ctypes.string_at(0)


@task("exit", payload=Nothing, max_retries=2)
def exit_(payload: Nothing, run: Run) -> None:
    os._exit(3)


class Share(BaseModel):
    greedy: bool = False
    seconds: float = 0


def take_all_memory() -> None:
    held = []
    while True:
        held.append(bytearray(10_000_000))


@task("hoard", payload=Nothing, max_retries=1)
def hoard(payload: Nothing, run: Run) -> None:
    take_all_memory()


@task("shares", payload=Share, batch=True, max_retries=1)
def shares(payloads: list[Share], runs: list[Run]) -> Iterator[int]:
    for payload in payloads:
        time.sleep(payload.seconds)
        if payload.greedy:
            take_all_memory()
        yield os.getpid()


@task("alone", payload=Nothing, isolated=True)
def alone(payload: Nothing, run: Run) -> int:
    return os.getpid()


@task("together", payload=Nothing)
def together(payload: Nothing, run: Run) -> int:
    return os.getpid()


@task("tidy", payload=Note)
def tidy(payload: Note, run: Run) -> None:
    """End by itself when asked to, and leave a note of how it ended in any case."""
    note = "interrupted"
    try:
        while not run.cancelled:
            time.sleep(0.01)
        note = "tidied up"
        raise RuntimeError("ended early")
    finally:
        Path(payload.file).write_text(note)


@task("talk", time_limit=0.5, max_retries=0)
def talk(then: Literal["return", "raise", "nap", "exit"], run: Run) -> None:
    """Say something, and end in one of several ways."""
    for number in range(3):
        run.log(f"line {number}")
    run.progress(0.7, "nearly")
    time.sleep(0.1)
    match then:
        case "raise":
            raise RuntimeError("as told")
        case "nap":
            time.sleep(600)
        case "exit":
            os._exit(3)


@task("complain", max_retries=0)
def complain(text: str, run: Run) -> None:
    """Fail at once, with these words."""
    run.log(text)
    raise RuntimeError(text)
