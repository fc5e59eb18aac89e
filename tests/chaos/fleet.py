"""The real processes, each in a slot, and a watchdog that starts again what ended, as systemd would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.journal import Journal
from tests.servers.private.process import ChildProcess

RESTART_DELAY = 0.7  # seconds until something that ended is started again
LOOK = 0.1  # seconds between the watchdog's looks
ORPHANS_PATIENCE = 3.0  # seconds for the children of what has ended to notice
STOP_PATIENCE = 15.0  # seconds for all of them to end in good order


@dataclass
class Slot:
    """A place for a process: the same name and links whichever process is in it."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    first_env: Mapping[str, str] = field(default_factory=dict)  # for its first process only
    restarts: bool = True
    process: Any = None
    ended_at: float | None = None


class WebProcess:
    """Like ChildProcess, but with a standard input that stays open: the web server ends when it closes."""

    def __init__(self, command: list[str], *, log: Path, env: Mapping[str, str]) -> None:
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=dict(env), start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    def exit_code(self) -> int | None:
        return self._popen.poll()


class Fleet:
    def __init__(self, folder: Path, slots: list[Slot]) -> None:
        self.folder = folder
        self.slots = {slot.name: slot for slot in slots}
        self.first_pid: dict[str, int] = {}
        self.journal = Journal(folder / "processes.jsonl")
        self._lock = threading.Lock()
        self._watching = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, daemon=True)

    def start(self, late: Collection[str] = ()) -> None:
        """Start every slot but the late ones, and watch over them."""
        for slot in self.slots.values():
            if slot.name not in late:
                self.start_late(slot.name)
        self._watching.set()
        self._watchdog.start()

    def start_late(self, name: str) -> None:
        slot = self.slots[name]
        self._spawn(slot, dict(slot.env) | dict(slot.first_env))
        self.first_pid[name] = slot.process.pid

    def pid(self, name: str) -> int | None:
        """The process in this slot now, if one runs."""
        process = self.slots[name].process
        return process.pid if process is not None and process.exit_code() is None else None

    def signal(self, pid: int, number: signal.Signals, *, alone: bool = False) -> None:
        """Signal a process of ours and, unless `alone`, what it started. One that is gone is left alone."""
        with self._lock:
            owned = any(self.pid(name) == pid for name in self.slots)
        if owned:
            with suppress(ProcessLookupError):
                (os.kill if alone else os.killpg)(pid, number)

    def handlers(self, pid: int) -> list[int]:
        """The children of an executor that run its handlers: those that keep a log and are not the executor."""
        logged = {int(path.stem) for path in (self.folder / "handlers").glob("*.jsonl")} - {pid}
        return sorted(child for child in logged & set(self._ours()) if _group(child) == pid)

    def stop(self) -> None:
        """End all: in good order, and after a while not."""
        self._watching.clear()
        if self._watchdog.ident:
            self._watchdog.join()
        for number in (signal.SIGCONT, signal.SIGTERM):
            for name in self.slots:
                if pid := self.pid(name):
                    self.signal(pid, number)
        deadline = time.monotonic() + STOP_PATIENCE
        while time.monotonic() < deadline and any(self.pid(name) for name in self.slots):
            time.sleep(LOOK)
        for name in self.slots:
            if pid := self.pid(name):
                self.journal.write(slot=name, pid=pid, event="did not end")
                self.signal(pid, signal.SIGKILL)
                self.slots[name].process._popen.wait(10)
        deadline = time.monotonic() + ORPHANS_PATIENCE
        while (orphans := self._ours()) and time.monotonic() < deadline:
            time.sleep(LOOK)
        for pid in orphans:
            self.journal.write(pid=pid, event="left behind", group=_group(pid), command=_command(pid))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _ours(self) -> list[int]:
        """Every process that was started, by us or by one of ours, for this run: its environment says so."""
        mark = f"CHAOS_FOLDER={self.folder}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def _watch(self) -> None:
        while self._watching.is_set():
            for slot in self.slots.values():
                if slot.process is None or (code := slot.process.exit_code()) is None:
                    continue
                if slot.ended_at is None:
                    slot.ended_at = time.monotonic()
                    self.journal.write(slot=slot.name, pid=slot.process.pid, event="ended", code=code)
                elif slot.restarts and time.monotonic() - slot.ended_at > RESTART_DELAY:
                    self._spawn(slot, slot.env)
            time.sleep(LOOK)

    def _spawn(self, slot: Slot, env: Mapping[str, str]) -> None:
        log = self.folder / "logs" / f"{slot.name}.log"
        log.parent.mkdir(exist_ok=True)
        kind = WebProcess if slot.name.startswith("web") else ChildProcess
        with self._lock:
            slot.process = kind([sys.executable, *slot.command], log=log, env=env)
            slot.ended_at = None
        self.journal.write(slot=slot.name, pid=slot.process.pid, event="started")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
