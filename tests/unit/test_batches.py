"""A handler that is given many at once answers for each, and none pays for another's trouble."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from pydantic import BaseModel

from execution.processes import make_destinations
from execution.registry import Registry, Run, Task, registry, task
from execution.retry import Cancelled, GiveUpNow
from execution.runner import Runner
from execution.signatures import UnclearHandler
from execution.voice import Bounds
from execution.workshop.threads import ThreadWorkshop
from jobs.ledger import Claim, Outcome
from jobs.limits import Limits
from jobs.states import Status
from tests.whole.processes import eventually


class Item(BaseModel):
    name: str


class Watch:
    def now(self):
        return timezone.now()


class Bench:
    """A workshop for one batch handler, and what it reports."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        tasks = Registry()
        tasks.add(Task("many", handler, Item, Limits(), batch_size=10))
        limits = Limits(3, timedelta(1), timedelta(1), timedelta(seconds=60), timedelta(1))
        runner = Runner(tasks, Watch(), limits, timedelta(1), 1000, make_destinations(Watch()))
        self.words: list[str] = []
        self.outcomes: dict[str, Outcome] = {}
        self.stuck: list[Claim] = []
        self.workshop = ThreadWorkshop(
            runner, 1, end_grace=timedelta(seconds=0.3), bounds=Bounds(10, 1000), on_stuck=self._stuck
        )
        self.workshop.start(self._report, lambda claim, words: self.words.append(words.text))

    def submit(self, *names: str, tenants: Sequence[UUID] = (), **limits: float) -> list[Claim]:
        """One claim a name, of one tenant unless `tenants` says whose; `limits` gives some their own, in seconds."""
        one = uuid4()
        claims = [
            Claim(
                *(uuid4(), 1, uuid4(), tenant, "many", 5, 0, json.dumps({"name": name} if name else {})),
                Limits(time_limit=timedelta(seconds=limits[name]) if name in limits else None),
                *("me", None),
            )
            for name, tenant in zip(names, tenants or [one] * len(names), strict=True)
        ]
        self.workshop.submit([claims])
        return claims

    def ended(self, count: int) -> dict[str, str]:
        """How each ended, once so many have."""
        eventually(lambda: len(self.outcomes) == count)
        return {
            name: outcome.result if outcome.status is Status.COMPLETED else outcome.error
            for name, outcome in self.outcomes.items()
        }

    def _report(self, finished: Any) -> None:
        for claim, outcome in finished:
            name = json.loads(claim.payload).get("name", "")
            assert name not in self.outcomes, "each is reported once"
            self.outcomes[name] = outcome

    def _stuck(self, claim: Claim, why: Any) -> None:
        self.stuck.append(claim)


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(handler: Callable[..., Any]) -> Bench:
        made.append(Bench(handler))
        return made[-1]

    yield make
    for one in made:
        one.workshop.close()


def test_a_list_answers_for_each_with_a_result_or_what_went_wrong(bench) -> None:
    calls = []

    def handler(items, runs):
        calls.append([item.name for item in items])
        return [GiveUpNow("not this one") if item.name == "b" else item.name.upper() for item in items]

    ran = bench(handler)
    ran.submit("a", "b", "c")

    assert ran.ended(3) == {"a": '"A"', "b": "GiveUpNow: not this one", "c": '"C"'}
    assert ran.outcomes["b"].status is Status.FAILED
    assert calls == [["a", "b", "c"]]


def test_tenants_take_turns_in_a_batch_and_long_payloads_are_read_a_few_at_a_time(bench, monkeypatch) -> None:
    monkeypatch.setattr("execution.workshop.batches.MAX_CHARACTERS", 200)
    calls = []

    def handler(items, runs):
        calls.append([item.name[:2] for item in items])
        return [None for _ in items]

    ran = bench(handler)
    one, other = uuid4(), uuid4()
    ran.submit(*(f"a{n}{'.' * 70}" for n in range(6)), "b0", "b1", tenants=[one] * 6 + [other] * 2)

    ran.ended(8)
    assert calls == [["a0", "b0", "a1", "b1"], ["a2", "a3"], ["a4", "a5"]]


def test_an_owner_of_many_tenants_has_one_turn_where_there_is_much_to_read(bench, monkeypatch) -> None:
    mine, others = [uuid4() for _ in range(3)], uuid4()
    monkeypatch.setattr("execution.workshop.batches.MAX_CHARACTERS", 100)
    monkeypatch.setattr("execution.workshop.batches.owners_of", lambda tenants: dict.fromkeys(mine, 1) | {others: 2})
    calls = []

    def handler(items, runs):
        calls.extend(item.name[:2] for item in items)
        return [None for _ in items]

    ran = bench(handler)
    ran.submit(*(f"a{n}{'.' * 70}" for n in range(3)), "b0", tenants=[*mine, others])

    ran.ended(4)
    assert calls == ["a0", "b0", "a1", "a2"]


def test_a_batch_of_one_tenant_is_one_call_however_long_its_payloads_are(bench, monkeypatch) -> None:
    monkeypatch.setattr("execution.workshop.batches.MAX_CHARACTERS", 200)
    calls = []

    def handler(items, runs):
        calls.append(len(items))
        return [None for _ in items]

    ran = bench(handler)
    ran.submit(*(f"{n}{'.' * 300}" for n in range(3)))

    ran.ended(3)
    assert calls == [3]


def test_a_generator_answers_one_by_one_and_each_counts_at_once(bench) -> None:
    first_seen = Event()

    def handler(items, runs):
        yield "first"
        assert first_seen.wait(20)
        yield RuntimeError("try me again")

    ran = bench(handler)
    ran.submit("a", "b")

    eventually(lambda: "a" in ran.outcomes)
    assert "b" not in ran.outcomes
    first_seen.set()
    assert ran.ended(2) == {"a": '"first"', "b": "RuntimeError: try me again"}
    assert ran.outcomes["b"].status is Status.RETRYING


def test_what_a_generator_holds_is_let_go_after_the_last_answer(bench) -> None:
    log = []

    def handler(items, runs):
        log.append("open")
        try:
            for item in items:
                yield item.name
        finally:
            log.append("closed")

    ran = bench(handler)
    ran.submit("a", "b")

    ran.ended(2)
    eventually(lambda: log == ["open", "closed"])


def test_a_generator_that_raises_fails_one_and_the_others_begin_anew(bench) -> None:
    calls = []

    def handler(items, runs):
        calls.append([item.name for item in items])
        for item in items:
            if item.name == "b":
                raise ValueError("cannot do b")
            yield item.name

    ran = bench(handler)
    ran.submit("a", "b", "c", "d")

    assert ran.ended(4) == {"a": '"a"', "b": "ValueError: cannot do b", "c": '"c"', "d": '"d"'}
    assert calls == [["a", "b", "c", "d"], ["c", "d"]]


def test_a_list_handler_that_raises_fails_them_all(bench) -> None:
    def handler(items, runs):
        raise ValueError("nothing works")

    ran = bench(handler)
    ran.submit("a", "b")

    assert ran.ended(2) == dict.fromkeys("ab", "ValueError: nothing works")


@pytest.mark.parametrize("answer", [None, ["one"], "ab", {"a": 1}, ["one", "two", "three"]])
def test_a_list_that_does_not_answer_for_each_is_told_so(bench, answer) -> None:
    ran = bench(lambda items, runs: answer)
    ran.submit("a", "b")

    for error in ran.ended(2).values():
        assert error.startswith("NoAnswer: its handler answers for 2 with")


def test_a_generator_that_ends_early_has_failed_those_it_left_out(bench) -> None:
    def handler(items, runs):
        yield "only one"

    ran = bench(handler)
    ran.submit("a")
    ran.ended(1)

    def nobody(items, runs):
        return
        yield

    other = bench(nobody)
    other.submit("a", "b")
    assert all("without an answer" in error for error in other.ended(2).values())


def test_a_payload_that_cannot_be_read_fails_alone(bench) -> None:
    ran = bench(lambda items, runs: [item.name for item in items])
    ran.submit("a", "", "c")

    assert ran.ended(3) == {"a": '"a"', "": "GiveUpNow: name: is missing.", "c": '"c"'}


def test_a_result_that_cannot_be_kept_fails_alone(bench) -> None:
    ran = bench(
        lambda items, runs: [object() if item.name == "b" else "x" * (5000 * (item.name == "c")) for item in items]
    )
    ran.submit("a", "b", "c")

    told = ran.ended(3)
    assert told["a"] == '""' and "object is not JSON" in told["b"] and "MAX_RESULT_BYTES" in told["c"]


def test_in_a_generator_the_late_one_is_stopped_and_those_behind_it_begin_anew(bench) -> None:
    def handler(items, runs):
        for item in items:
            while item.name == "slow":
                time.sleep(0.01)
            yield item.name

    ran = bench(handler)
    ran.submit("a", "slow", "c", slow=0.2)

    told = ran.ended(3)
    assert told["a"] == '"a"' and told["c"] == '"c"' and told["slow"].startswith("TimeLimitExceeded")
    assert ran.stuck == []


def test_in_a_list_the_late_one_is_stopped_and_the_others_begin_anew(bench) -> None:
    def handler(items, runs):
        while any(item.name == "slow" for item in items):
            time.sleep(0.01)
        return [item.name for item in items]

    ran = bench(handler)
    ran.submit("a", "slow", "c", slow=0.2)

    told = ran.ended(3)
    assert told["a"] == '"a"' and told["c"] == '"c"' and told["slow"].startswith("TimeLimitExceeded")


def test_one_that_is_cancelled_before_its_turn_is_never_begun_and_hurts_nobody(bench) -> None:
    begun, go = [], Event()

    def handler(items, runs):
        for item in items:
            begun.append(item.name)
            assert go.wait(20)
            yield item.name

    ran = bench(handler)
    _, unwanted, _ = ran.submit("a", "b", "c")
    eventually(lambda: begun == ["a"])
    ran.workshop.interrupt([unwanted], Cancelled)
    place = ran.workshop._places[unwanted]
    eventually(lambda: place.interrupted_at is not None and time.monotonic() > place.interrupted_at + 1)
    go.set()

    told = ran.ended(3)
    assert told["a"] == '"a"' and told["c"] == '"c"' and told["b"].startswith("Cancelled")
    assert begun == ["a", "c"] and ran.stuck == [], "one that waits its turn is not stuck"


def test_each_run_speaks_for_itself(bench) -> None:
    def handler(items, runs):
        for item, run in zip(items, runs, strict=True):
            run.log(f"{item.name} {run.attempt} {run.cancelled}")
        return [run.idempotency_key for run in runs]

    ran = bench(handler)
    claims = ran.submit("a", "b")

    assert list(ran.ended(2).values()) == [f'"{claim.id}"' for claim in claims]
    assert ran.words == ["a 1 False", "b 1 False"]


def test_a_batch_handler_is_registered_with_its_size_and_its_model(monkeypatch) -> None:
    monkeypatch.setattr(registry, "_tasks", {})

    @task("many", batch=True, batch_size=7)
    def many(items: list[Item], runs: list[Run]) -> list[str]:
        return []

    assert registry.get("many").payload is Item and registry.batch_size("many") == 7
    assert registry.batch_size("unknown") is None
    with pytest.raises(UnclearHandler, match="two parameters"):
        task("other", batch=True)(lambda items: [])
