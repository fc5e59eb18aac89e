"""What a child process says is heard, whatever else it says; and one that makes no sense is done without."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Lock, current_thread
from typing import Any
from uuid import uuid4

import pytest

from execution.workshop import wire
from execution.workshop.child import NOBODYS, send
from execution.workshop.memory import limits_of_container
from execution.workshop.processes import Child
from jobs.ledger import Claim, Outcome
from jobs.limits import Limits
from jobs.states import AttemptOutcome, Status
from tests.whole.processes import eventually

KILLED = -9


class Process:
    """Of which there is only the pipe, so that it can say anything."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.killed = False

    def kill(self) -> None:
        self.killed = True

    def join(self) -> int:
        return KILLED


class Told:
    """A workshop that notes what its child has led to."""

    def __init__(self) -> None:
        self.finished: list[Claim] = []
        self.lost: list[Claim] | None = None
        self.retired: Child | None = None

    def retire(self, child: Child) -> None:
        self.retired = child

    def report(self, finished: Sequence[tuple[Claim, Any]]) -> None:
        self.finished += [claim for claim, _ in finished]

    def child_ended(self, ended: Child, held: Collection[Claim], guilty: Any, code: int | None) -> None:
        self.lost = list(held)


@pytest.fixture
def pipes() -> Iterator[tuple[Connection, Connection]]:
    ours, theirs = Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


def claim() -> Claim:
    return Claim(uuid4(), 1, uuid4(), uuid4(), "task", 5, 0, "{}", Limits(), "me", None)


def completed(one: Claim) -> wire.Packed:
    return wire.pack_outcome(Outcome(*one.key, Status.COMPLETED, datetime.now(UTC), took=0.1))


def test_a_child_that_cannot_be_understood_is_replaced_and_what_it_held_is_told_as_lost(pipes) -> None:
    ours, theirs = pipes
    workshop, process, held = Told(), Process(ours), claim()
    child = Child(workshop, process)
    child.submit([[held]])

    theirs.send_bytes(b"nothing that can be read")

    eventually(lambda: workshop.lost is not None)
    assert workshop.lost == [held] and child.ended and process.killed


def test_the_thread_that_listened_to_a_child_keeps_no_connection_when_it_ends(pipes, monkeypatch) -> None:
    ours, theirs = pipes
    workshop, closed_by = Told(), []
    monkeypatch.setattr(
        "execution.workshop.processes.connections.close_all", lambda: closed_by.append(current_thread().name)
    )
    Child(workshop, Process(ours))

    theirs.close()

    eventually(lambda: closed_by == ["listener"])
    assert workshop.lost == []


def test_what_was_finished_before_an_answer_that_makes_no_sense_counts(pipes) -> None:
    ours, theirs = pipes
    workshop, done, held = Told(), claim(), claim()
    Child(workshop, Process(ours)).submit([[done, held]])

    wire.send(theirs, [(0, completed(done)), (1, ("no", "outcome"))])

    eventually(lambda: workshop.lost is not None)
    assert workshop.finished == [done] and workshop.lost == [held]


def test_what_cannot_be_written_is_left_out_of_the_answers_and_the_others_are_sent(pipes) -> None:
    ours, theirs = pipes
    first, second = (0, completed(claim())), (2, completed(claim()))

    send(theirs, [first, (NOBODYS, {"name": Lock()}), second])

    assert [wire.receive(ours), wire.receive(ours)] == [[first], [second]]


def test_an_outcome_that_cannot_be_written_is_not_passed_over(pipes) -> None:
    _, theirs = pipes

    with pytest.raises(TypeError, match="pickle"):
        send(theirs, [(0, (1.0, 0.1, Lock()))])


def test_a_child_that_ran_out_of_memory_is_given_no_more_work_and_ends_with_what_it_has(pipes) -> None:
    ours, theirs = pipes
    workshop, process, refused, neighbour = Told(), Process(ours), claim(), claim()
    child = Child(workshop, process)
    child.submit([[refused, neighbour]])
    crashed = Outcome(*refused.key, Status.RETRYING, datetime.now(UTC), ended=AttemptOutcome.CRASHED, forgiven=True)

    wire.send(theirs, [(0, wire.pack_outcome(crashed))])
    eventually(lambda: workshop.retired is child)
    assert not process.killed and not child.ended

    wire.send(theirs, [(1, completed(neighbour))])
    eventually(lambda: process.killed)
    assert workshop.finished == [refused, neighbour] and not child.submit([[claim()]])


def test_a_containers_limit_is_known_whatever_its_kernel_calls_it(tmp_path) -> None:
    new, old, none = tmp_path / "memory.max", tmp_path / "limit_in_bytes", tmp_path / "unlimited"
    new.write_text("1073741824\n")
    old.write_text("9223372036854771712\n")
    none.write_text("max\n")

    assert limits_of_container([new, old]) == [2**30, 9223372036854771712]
    assert limits_of_container([none, tmp_path / "missing"]) == []
