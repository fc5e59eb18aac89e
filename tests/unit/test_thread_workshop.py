"""Executions that go together share a thread, as long as none of them holds up the others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from threading import Event, get_ident
from typing import Any
from uuid import uuid4

import pytest

from execution.voice import Bounds
from execution.workshop.threads import ThreadWorkshop
from jobs.ledger import Claim
from jobs.limits import Limits
from tests.whole.processes import eventually


class Recorded:
    """A runner that notes who ran where, and waits where it is told to."""

    def __init__(self) -> None:
        self.ran: dict[str, int] = {}
        self.waits_for: dict[str, Event] = {}

    def limits_of(self, claim: Any) -> Limits:
        return Limits()

    def takes_batches(self, claim: Any) -> bool:
        return False

    def run(self, claim: Any, run: Any) -> str:
        if claim.task in self.waits_for:
            assert self.waits_for[claim.task].wait(20)
        self.ran[claim.task] = get_ident()
        return "done"


def claim(name: str) -> Claim:
    return Claim(uuid4(), 1, uuid4(), uuid4(), name, 5, 0, "{}", Limits(), "me", None)


@pytest.fixture
def runner() -> Recorded:
    return Recorded()


@pytest.fixture
def workshop(runner) -> Iterator[ThreadWorkshop]:
    workshop = ThreadWorkshop(runner, 2, end_grace=timedelta(seconds=1), bounds=Bounds(10, 1000))
    workshop.reported = []
    workshop.start(
        lambda finished: workshop.reported.extend(claim.task for claim, _ in finished),
        lambda claim, words: None,
    )
    yield workshop
    workshop.close()


def test_a_bundle_runs_in_its_order_on_one_thread(workshop, runner) -> None:
    names = [str(number) for number in range(50)]

    workshop.submit([[claim(name) for name in names]])

    eventually(lambda: len(workshop.reported) == 50)
    assert workshop.reported == names
    assert len(set(runner.ran.values())) == 1


def test_those_behind_a_slow_one_move_to_another_thread(workshop, runner) -> None:
    runner.waits_for["slow"] = gate = Event()

    workshop.submit([[claim("slow"), claim("second"), claim("third")]])

    eventually(lambda: workshop.reported == ["second", "third"])
    gate.set()
    eventually(lambda: "slow" in workshop.reported)
    assert runner.ran["slow"] != runner.ran["second"]
    assert sorted(workshop.reported) == ["second", "slow", "third"], "each is reported once"


def test_a_thread_whose_work_raised_goes_on(workshop, runner) -> None:
    def fail(*_):
        raise RuntimeError("not even an outcome")

    report, workshop._report = workshop._report, fail
    runner.given_back = fail
    workshop.submit([[claim("lost")], [claim("lost too")]])
    eventually(lambda: not workshop._places)
    workshop._report = report

    workshop.submit([[claim("next")], [claim("another")]])

    eventually(lambda: sorted(workshop.reported) == ["another", "next"])
