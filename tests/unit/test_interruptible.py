"""A call that another thread ends: it ends, and nothing of that reaches what its thread does next."""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from execution.retry import Cancelled, Interrupted, LeaseLost
from execution.workshop import interruptible
from execution.workshop.interruptible import Interruptible, raise_in_thread


def on_a_thread(work) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_call_that_nobody_interrupts_returns_what_its_function_does() -> None:
    assert Interruptible().call(lambda: 7) == 7


def test_one_that_was_interrupted_before_it_began_is_not_made() -> None:
    call, made = Interruptible(), []
    call.interrupt(Cancelled)

    with pytest.raises(Cancelled):
        call.call(lambda: made.append(1))

    assert made == []


def test_those_that_were_interrupted_before_they_began_keep_no_thread_waiting(monkeypatch) -> None:
    monkeypatch.setattr(interruptible, "_await_it", lambda: pytest.fail("nothing is on its way to such a call"))
    call = Interruptible()
    call.interrupt(Cancelled)

    with pytest.raises(Cancelled):
        call.call(lambda: None)


def test_the_first_reason_counts() -> None:
    call = Interruptible()
    call.interrupt(LeaseLost)
    call.interrupt(Cancelled)

    with pytest.raises(LeaseLost):
        call.call(lambda: None)


def test_one_that_is_over_is_not_interrupted_any_more() -> None:
    call = Interruptible()
    call.call(lambda: None)

    call.interrupt(Cancelled)
    for _ in range(1000):
        time.sleep(0)  # steps in which an exception would be raised


def test_an_endless_one_ends_with_the_reason() -> None:
    call, ended = Interruptible(), []

    def work() -> None:
        try:
            call.call(spin)
        except Interrupted as error:
            ended.append(type(error))

    thread = on_a_thread(work)
    while call._thread is None:
        time.sleep(0.001)
    call.interrupt(Cancelled)
    thread.join(5)

    assert ended == [Cancelled]


def spin() -> None:
    while True:
        pass


def test_one_that_swallowed_it_is_ended_by_the_next() -> None:
    call, begun, swallowed, ended = Interruptible(), threading.Event(), threading.Event(), []

    def stubborn() -> None:
        try:
            begun.set()
            spin()
        except Interrupted:
            swallowed.set()
        spin()

    def work() -> None:
        try:
            call.call(stubborn)
        except Interrupted as error:
            ended.append(type(error))

    thread = on_a_thread(work)
    assert begun.wait(5)
    call.interrupt(Cancelled)
    assert swallowed.wait(5)
    call.interrupt(Cancelled)
    thread.join(5)

    assert ended == [Cancelled]


def test_one_that_ends_just_as_it_is_interrupted_waits_for_that(monkeypatch) -> None:
    begun, ending, outside = threading.Event(), threading.Event(), []

    def raise_slowly(thread: int, why: type[Interrupted]) -> bool:
        ending.set()
        while call._thread is not None:  # then the function has returned
            time.sleep(0.001)
        return raise_in_thread(thread, why)

    monkeypatch.setattr(interruptible, "raise_in_thread", raise_slowly)
    call = Interruptible()

    def work() -> None:
        try:
            call.call(lambda: (begun.set(), ending.wait(5)))
            for _ in range(200):
                time.sleep(0.001)  # steps in which an exception would be raised
        except Interrupted as error:
            outside.append(error)

    thread = on_a_thread(work)
    assert begun.wait(5)
    call.interrupt(Cancelled)
    thread.join(30)

    assert not thread.is_alive()
    assert outside == []


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns thousands of times a second, so that each is met at every step it takes.

    No garbage is collected meanwhile: Hypothesis listens to that in Python code, which no exception gets out of.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.000_01)
    gc.disable()
    yield
    gc.enable()
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_whenever_it_comes_it_comes_within_the_call_or_not_at_all() -> None:
    """Short calls, one after another, some of which are interrupted at some moment before, in or after them."""
    chance = random.Random(7)
    latest = [Interruptible()]
    outside: list[Interrupted] = []
    ended = []

    def work() -> None:
        while len(ended) < 40 and not outside:
            latest[0] = call = Interruptible()
            try:
                try:
                    call.call(lambda: sum(range(chance.randrange(300))))
                except Interrupted:
                    ended.append(call)
                sum(range(100))  # what the thread does next is nobody's to interrupt
            except Interrupted as error:
                outside.append(error)

    worker = on_a_thread(work)
    give_up_at = time.monotonic() + 60
    while worker.is_alive() and time.monotonic() < give_up_at:
        latest[0].interrupt(Cancelled)
        time.sleep(0.0001)

    assert outside == []
    assert len(ended) == 40


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_an_interrupted_call_leaves_no_lock_taken_that_it_took_with_with(make) -> None:
    lost = 0
    for _ in range(300):
        lock, call, begun = make(), Interruptible(), threading.Event()

        def take_for_ever(lock=lock, begun=begun) -> None:
            begun.set()
            while True:
                with lock:
                    pass

        def work(call=call, take=take_for_ever) -> None:
            with suppress(Interrupted):
                call.call(take)

        thread = on_a_thread(work)
        assert begun.wait(5)
        while thread.is_alive():
            call.interrupt(Cancelled)
            thread.join(0.01)
        lost += not lock.acquire(blocking=False)

    assert lost == 0
