"""Which tasks there are: a name, a function, and what its payload must look like."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError

from execution.run import Run
from execution.signatures import Handler, understood, understood_batch
from jobs.limits import Limits
from jobs.secret_names import spelled

__all__ = ["Handler", "InvalidPayload", "Registry", "Run", "Task", "UnknownTask", "registry", "task"]

MAX_FAULTS = 20  # of a payload, told at once: one of 1 MB can have tens of thousands
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")  # part of a queue's name, and of addresses


class UnknownTask(Exception):
    """No task of that name is registered."""


class InvalidPayload(Exception):
    """The payload is not what the task expects. `errors` maps each field to what is wrong with it."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in errors.items()))
        self.errors = errors


Destination = Callable[[Any], str]  # of a payload, such as `https://example.com`
TenantCheck = Callable[[UUID], None]


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    handler: Handler
    payload: type[BaseModel]
    limits: Limits = field(default_factory=Limits)
    isolated: bool = False  # in a process of its own, for handlers that may crash it or leak
    batch_size: int | None = None  # of a handler that is given many at once: so many, at most
    secrets: frozenset[str] = frozenset()  # names of members of its payload, besides those that say so themselves
    destination: Destination | None = None  # whom it talks to: while that is down, it waits and its retries are kept
    shared_destination: bool = False  # the same for all tenants, and none of them can make it look down
    secrets_bound_to: frozenset[str] | None = None  # members that decide where its secrets go; None: any may
    check_tenant: TenantCheck | None = None  # raises for a tenant that may not have jobs of this task

    @property
    def remote(self) -> bool:
        """Whether workers of its own run it, and our executors do not."""
        return False

    def read(self, payload: Any) -> BaseModel:
        """The payload as the handler gets it, or InvalidPayload with the fields that are wrong."""
        if not isinstance(payload, dict):
            raise InvalidPayload({"": f"must be a JSON object, such as {self._example()}."})
        try:
            # What `model_validate` does, without looking for options: a third of its time.
            return self.payload.__pydantic_validator__.validate_python(payload)
        except ValidationError as error:
            raise InvalidPayload(dict(_told(fault, self.payload) for fault in error.errors()[:MAX_FAULTS])) from None

    @property
    def description(self) -> str:
        """What its author says it does."""
        return inspect.getdoc(self.handler) or ""

    @property
    def payload_schema(self) -> dict[str, Any]:
        """What the payload must look like, as JSON Schema.

        Without the docstring of the model, which is for developers: users read the task's own description.
        """
        schema = self.payload.model_json_schema()
        if self.payload.__doc__ is not None:
            schema.pop("description", None)
        return schema

    def _example(self) -> str:
        needed = [field.alias or name for name, field in self.payload.model_fields.items() if field.is_required()]
        fields = ", ".join(f'"{name}": …' for name in needed)
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

    def knows(self, name: str) -> bool:
        return name in self._tasks

    def batch_size(self, name: str) -> int | None:
        """How many executions of the task its handler is given at once; None if one after another."""
        known = self._tasks.get(name)
        return None if known is None else known.batch_size

    def names(self) -> list[str]:
        return sorted(self._tasks)

    def local_names(self) -> list[str]:
        """Those that our executors serve."""
        return [name for name in self.names() if not self._tasks[name].remote]

    def remote_names(self) -> list[str]:
        return [name for name in self.names() if self._tasks[name].remote]


registry = Registry()


def task(
    name: str,
    *,
    payload: type[BaseModel] | None = None,
    max_retries: int | None = None,
    retry_delay: timedelta | float | None = None,
    retry_delay_cap: timedelta | float | None = None,
    time_limit: timedelta | float | None = None,
    lease: timedelta | float | None = None,
    isolated: bool = False,
    secrets: Collection[str] = (),
    batch: bool = False,
    batch_size: int = 100,
    destination: Destination | None = None,
    shared_destination: bool = False,
    secrets_bound_to: Collection[str] | None = None,
    check_tenant: TenantCheck | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the task `name`. It gets the checked payload and the run, and returns JSON.

    Without `payload`, its parameters say what the payload is: a pydantic model, or one parameter a field. Lengths of
    time are seconds, or timedeltas. What is not given is the settings' default; a job may override any of it.

    With `batch`, it gets a list of payloads and one of runs, at most `batch_size`, and answers for each in their order:
    with a list, or one by one as a generator. An answer is a result, or an exception.

    `secrets` names members of the payload, at any depth, that are stored sealed and never shown; those called
    `password`, `token` and the like are anyway.

    With `destination`, work for one that is down waits (see docs/destinations.md). Each tenant finds that out for
    itself, unless it is a `shared_destination`, which no payload can name.

    `secrets_bound_to` names the top-level members of the payload that decide where its secrets go, such as `url`. An
    edit that changes one of them has to enter the secrets again. Without it, an edit of any member has to.

    With `check_tenant`, jobs of a tenant for which it raises are refused.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a task. Use up to 100 letters, digits and _ . : -, such as 'greet'.")
    limits = Limits(max_retries, *map(_length, (retry_delay, retry_delay_cap, time_limit, lease)))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        handler, model = understood_batch(function, payload) if batch else understood(function, payload)
        registry.add(
            Task(
                name,
                handler,
                model,
                limits,
                isolated,
                batch_size if batch else None,
                frozenset(map(spelled, secrets)),
                destination,
                shared_destination,
                None if secrets_bound_to is None else frozenset(secrets_bound_to),
                check_tenant,
            )
        )
        return function

    return register


def _length(given: timedelta | float | None) -> timedelta | None:
    return timedelta(seconds=given) if isinstance(given, (int, float)) else given


def _told(fault: Any, model: type[BaseModel]) -> tuple[str, str]:
    field = ".".join(str(step) for step in fault["loc"])
    if fault["type"] == "extra_forbidden":
        allowed = ", ".join(known.alias or name for name, known in model.model_fields.items())
        return field, f"is no field of this payload. Allowed: {allowed}."
    if fault["type"] == "missing":
        return field, "is missing."
    return field, fault["msg"].removeprefix("Value error, ")
