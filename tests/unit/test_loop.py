"""The loop around every daemon."""

from __future__ import annotations

import time
from datetime import timedelta
from threading import Event

import pytest
import structlog

from scheduler_project import loop
from scheduler_project.loop import run_until_stopped

NAP = timedelta(milliseconds=1)


class Worker:
    def __init__(self, *rounds: int | Exception) -> None:
        self.rounds = list(rounds)
        self.stop = Event()

    def tick(self) -> int:
        if len(self.rounds) == 1:
            self.stop.set()
        result = self.rounds.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


@pytest.mark.parametrize(
    "rounds", [(1, 1, 0), (0, 0), (RuntimeError("a"), 1), (RuntimeError("a"), RuntimeError("b"), 0)]
)
def test_it_goes_on_until_stopped_whatever_a_round_does(rounds) -> None:
    worker = Worker(*rounds)

    run_until_stopped(worker, interval=NAP, stop=worker.stop)

    assert worker.rounds == []


def test_each_round_is_told_when_it_is_over_however_it_ended() -> None:
    worker, ended = Worker(1, RuntimeError("a"), 0), []

    run_until_stopped(worker, interval=NAP, stop=worker.stop, after_round=lambda: ended.append(len(worker.rounds)))

    assert ended == [2, 1, 0]


def test_the_nap_is_what_the_daemon_makes_of_the_interval() -> None:
    worker, asked = Worker(0, 1, 0, 0), []

    def rest(longest: timedelta) -> timedelta:
        asked.append(longest)
        return timedelta()

    began = time.monotonic()
    run_until_stopped(worker, interval=timedelta(seconds=60), stop=worker.stop, rest=rest)

    assert asked == [timedelta(seconds=60)] * 3, "not after a round that found something"
    assert time.monotonic() - began < 50


def test_a_daemon_that_cannot_say_how_long_to_rest_has_failed_its_round() -> None:
    worker, ended = Worker(0, 0), []

    def rest(longest: timedelta) -> timedelta:
        raise RuntimeError("away")

    run_until_stopped(worker, interval=NAP, stop=worker.stop, rest=rest, after_round=lambda: ended.append(1))

    assert ended == [1, 1]


def test_an_outage_is_told_once_and_so_is_its_end(monkeypatch) -> None:
    told = structlog.testing.CapturingLogger()
    monkeypatch.setattr(loop, "logger", told)
    worker = Worker(*[RuntimeError("away")] * 5, 1, 0)

    run_until_stopped(worker, interval=NAP, stop=worker.stop)

    assert [call.args for call in told.calls] == [("worker.round_failed",), ("worker.working_again",)]


def test_a_loop_whose_rounds_all_fail_still_has_a_pulse(tmp_path, settings) -> None:
    settings.PULSE_FILE = str(tmp_path / "pulse")
    worker = Worker(RuntimeError("away"), RuntimeError("away"))

    run_until_stopped(worker, interval=NAP, stop=worker.stop)

    assert (tmp_path / "pulse").exists() and not (tmp_path / "pulse.ready").exists()
