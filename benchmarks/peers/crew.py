"""A peer's processes: each leads a group of its own, so that what it forks can be paused and stopped with it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from benchmarks.peers.catalogue import PYTHON, ROOT, CannotMeasure
from benchmarks.peers.place import Place

STOP_PATIENCE = 20  # seconds
LOG_END = 2000  # characters of the log that an error quotes


class PeerFailed(CannotMeasure):
    """A peer that did not do what it was asked; the message ends with its own words."""


class Producer:
    """A process that enqueues when told to, warm and connected before."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin and process.stdout
        self._orders, self._answers = process.stdin, process.stdout

    def enqueue(self, count: int) -> None:
        """Say how many, and do not wait: `wait` does."""
        self._orders.write(f"{count}\n")
        self._orders.flush()

    def wait(self, patience: float) -> None:
        """Until it has made itself ready, or has handed over everything that it was told to."""
        if not select.select([self._answers], [], [], patience)[0]:
            raise TimeoutError(f"The producer was not done within {patience} s.")
        if not self._answers.readline():
            raise PeerFailed("The producer ended.")


class Crew:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._workers: list[subprocess.Popen[str]] = []
        self._helpers: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> None:
        """Run a module as a worker."""
        with self._place.log.open("a") as log:
            self._workers.append(self._run(words, subprocess.DEVNULL, log))

    def run(self, *words: str, patience: float) -> None:
        """Run a module to its end."""
        with self._place.log.open("a") as log:
            process = self._run(words, subprocess.DEVNULL, log)
        self._helpers.append(process)
        try:
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{words[0]} was not done within {patience} s.") from None
        self._helpers.remove(process)  # its number may be another's soon
        if status:
            raise PeerFailed(f"{words[0]} ended with status {status}.")

    def producer(self, *words: str) -> Producer:
        self._helpers.append(self._run(words, subprocess.PIPE, subprocess.PIPE))
        return Producer(self._helpers[-1])

    def _run(self, words: tuple[str, ...], source: int, sink: int | IO[str]) -> subprocess.Popen[str]:
        with self._place.log.open("a") as log:
            return subprocess.Popen(
                [PYTHON, "-m", *words],
                cwd=ROOT,
                env=self._place.env,
                stdin=source,
                stdout=sink,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def pause(self) -> None:
        """Hold the workers where they are, warm and connected."""
        for process in self._workers:
            os.killpg(process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        for process in self._workers:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)

    def check(self) -> None:
        """Make a worker that ended too soon an error, instead of a long wait."""
        for process in self._workers:
            if process.poll() is not None:
                raise PeerFailed(f"A worker ended with status {process.returncode}.")

    def last_words(self) -> str:
        return self._place.log.read_text(errors="replace")[-LOG_END:]

    def stop(self) -> None:
        """Ask the leaders, who look after what they forked; then make sure that nobody of a group is left."""
        self.resume()
        everyone = self._workers + self._helpers
        for process in everyone:
            process.terminate()
        for process in everyone:
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_PATIENCE)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def crew(place: Place) -> Iterator[Crew]:
    """Processes at a place; what goes wrong among them is told with the end of their log."""
    made = Crew(place)
    try:
        yield made
    except (PeerFailed, TimeoutError) as error:
        raise PeerFailed(f"{error} The peer's log ends:\n{made.last_words()}") from error
    finally:
        made.stop()
