"""What a task's payload is can be read from its function."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from execution.registry import InvalidPayload, Registry, Run, Task, registry, task
from execution.signatures import UnclearHandler


class Greeting(BaseModel):
    name: str


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this test only."""
    monkeypatch.setattr(registry, "_tasks", {})


def call(name: str, payload: dict[str, Any]) -> Any:
    known = registry.get(name)
    return known.handler(known.read(payload), Run(UUID(int=7), 2))


def test_plain_parameters_are_the_fields_of_the_payload() -> None:
    @task("greet")
    def greet(name: str, times: int = 1) -> list[str]:
        return [f"Hello, {name}"] * times

    assert call("greet", {"name": "Ada", "times": "2"}) == ["Hello, Ada"] * 2
    assert greet("Ada") == ["Hello, Ada"], "it is still a function like any other"


@pytest.mark.parametrize(
    ("payload", "wrong"),
    [
        ({}, {"name": "is missing."}),
        ({"nmae": "Ada"}, {"name": "is missing.", "nmae": "is no field of this payload. Allowed: name, times."}),
        (
            {"name": "Ada", "times": "often"},
            {"times": "Input should be a valid integer, unable to parse string as an integer"},
        ),
    ],
)
def test_a_payload_that_does_not_fit_the_parameters_is_refused_by_field(payload, wrong) -> None:
    @task("greet")
    def greet(name: str, times: int = 1) -> None: ...

    with pytest.raises(InvalidPayload) as refused:
        registry.get("greet").read(payload)

    assert refused.value.errors == wrong


def test_the_run_is_given_to_whoever_asks_for_it_under_any_name() -> None:
    @task("one")
    def one(name: str, run: Run) -> int:
        return run.attempt

    @task("two")
    def two(*, this: Run, name: str) -> int:
        return this.attempt

    assert call("one", {"name": "Ada"}) == call("two", {"name": "Ada"}) == 2
    assert list(registry.get("two").payload.model_fields) == ["name"]


def test_a_model_in_the_annotation_is_the_payload() -> None:
    @task("with_run")
    def with_run(greeting: Greeting, run: Run) -> str:
        return f"{greeting.name} {run.attempt}"

    @task("without_run")
    def without_run(greeting: Greeting) -> str:
        return greeting.name

    assert call("with_run", {"name": "Ada"}) == "Ada 2"
    assert call("without_run", {"name": "Ada"}) == "Ada"
    assert registry.get("with_run").payload is Greeting


def test_a_task_may_need_nothing_at_all() -> None:
    @task("tick")
    def tick() -> str:
        return "tock"

    assert call("tick", {}) == "tock"


@pytest.mark.parametrize("function", [lambda name: None, lambda *names: None, lambda **anything: None])
def test_a_signature_that_says_too_little_is_refused_with_the_remedy(function) -> None:
    with pytest.raises(UnclearHandler, match="Annotate it"):
        task("unclear")(function)


def test_lengths_of_time_are_seconds_or_timedeltas() -> None:
    @task("quick", time_limit=2.5, retry_delay=timedelta(minutes=1), max_retries=1)
    def quick() -> None: ...

    limits = registry.get("quick").limits
    assert limits.time_limit == timedelta(seconds=2.5) and limits.retry_delay == timedelta(minutes=1)


@pytest.mark.parametrize("name", ["", "two words", "ünder", "-dash", "a/b", "x" * 101])
def test_a_name_that_no_queue_could_have_is_refused(name) -> None:
    with pytest.raises(ValueError, match="no name for a task"):
        task(name)


def test_two_tasks_of_one_name_are_refused_and_a_reload_of_one_is_not() -> None:
    tasks = Registry()
    first, second = (Task("greet", function, Greeting) for function in (lambda p, r: 1, sorted))
    tasks.add(first)
    tasks.add(first)

    with pytest.raises(ValueError, match="Rename one"):
        tasks.add(second)


def test_a_run_that_nobody_started_says_so_when_it_is_to_speak() -> None:
    with pytest.raises(RuntimeError, match="Nobody hears"):
        Run(uuid4(), 1).log("Hello?")
