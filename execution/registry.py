"""Which tasks there are: a name, a function, and what its payload must look like."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError

from jobs.limits import Limits


class UnknownTask(Exception):
    """No task of that name is registered."""


class InvalidPayload(Exception):
    """The payload is not what the task expects. `errors` maps each field to what is wrong with it."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in errors.items()))
        self.errors = errors


@dataclass(slots=True)
class Wish:
    """What others want of a run."""

    to_end: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """What a handler knows of the run it is part of."""

    execution_id: UUID
    attempt: int
    _wish: Wish = field(default_factory=Wish, compare=False)

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants this to end: a handler that looks can end tidily, others are interrupted."""
        return self._wish.to_end

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at one due time: give it to whatever must not act twice."""
        return str(self.execution_id)


Handler = Callable[[Any, Run], Any]


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    handler: Handler
    payload: type[BaseModel]
    limits: Limits = field(default_factory=Limits)
    isolated: bool = False  # in a process of its own, for handlers that may crash it or leak

    def read(self, payload: Any) -> BaseModel:
        """The payload as the handler gets it, or InvalidPayload with every field that is wrong."""
        if not isinstance(payload, dict):
            raise InvalidPayload({"": f"must be a JSON object, such as {self._example()}."})
        try:
            return self.payload.model_validate(payload)
        except ValidationError as error:
            raise InvalidPayload(dict(_told(fault, self.payload) for fault in error.errors())) from None

    @property
    def description(self) -> str:
        """What its author says it does."""
        return inspect.getdoc(self.handler) or ""

    @property
    def payload_schema(self) -> dict[str, Any]:
        """What the payload must look like, as JSON Schema."""
        return self.payload.model_json_schema()

    def _example(self) -> str:
        fields = ", ".join(f'"{name}": …' for name, field in self.payload.model_fields.items() if field.is_required())
        return "{" + fields + "}"


class Registry:
    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def add(self, task: Task) -> None:
        known = self._tasks.get(task.name)
        if known and known.handler.__qualname__ != task.handler.__qualname__:
            raise ValueError(f"Two tasks are named {task.name!r}: {known.handler!r} and {task.handler!r}. Rename one.")
        self._tasks[task.name] = task

    def get(self, name: str) -> Task:
        try:
            return self._tasks[name]
        except KeyError:
            raise UnknownTask(f"No task named {name!r}. Registered: {', '.join(self.names())}.") from None

    def names(self) -> list[str]:
        return sorted(self._tasks)


registry = Registry()


def task(
    name: str,
    *,
    payload: type[BaseModel],
    max_retries: int | None = None,
    retry_delay: timedelta | None = None,
    retry_delay_cap: timedelta | None = None,
    time_limit: timedelta | None = None,
    lease: timedelta | None = None,
    isolated: bool = False,
) -> Callable[[Handler], Handler]:
    """Register a function as the task `name`. It gets the checked payload and the run, and returns JSON.

    What is not given is the settings' default; a job may override any of it.
    """
    limits = Limits(max_retries, retry_delay, retry_delay_cap, time_limit, lease)

    def register(handler: Handler) -> Handler:
        registry.add(Task(name, handler, payload, limits, isolated))
        return handler

    return register


def _told(fault: Any, model: type[BaseModel]) -> tuple[str, str]:
    field = ".".join(str(step) for step in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return field, f"is no field of this payload. Allowed: {', '.join(model.model_fields)}."
    if fault["type"] == "missing":
        return field, "is missing."
    return field, fault["msg"].removeprefix("Value error, ")
