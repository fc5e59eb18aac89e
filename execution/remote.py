"""Tasks that workers in other languages run: declared by name and JSON schema, without a handler of ours.

A declaration says where their executions wait. Over HTTP they wait in the database, whatever broker carries the
others; from RabbitMQ they come as messages, and the worker claims by their ids. Everything else (retries, dead
letters, history) is as with any task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from jsonschema import Draft202012Validator, SchemaError
from pydantic import BaseModel, ConfigDict
from referencing import Registry as Schemas

from execution.registry import MAX_FAULTS, InvalidPayload, Registry, Run, Task
from execution.retry import GiveUpNow
from jobs.limits import Limits

LENGTHS = ("retry_delay", "retry_delay_cap", "time_limit", "lease")  # in seconds, as in a job


class Source(StrEnum):
    """Where a worker gets executions from."""

    HTTP = "http"
    RABBITMQ = "rabbitmq"


class AnyObject(BaseModel):
    """A payload, of which only the schema knows what is in it."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class RemoteTask(Task):
    schema: Mapping[str, Any] = field(default_factory=dict)
    source: Source = Source.HTTP
    purpose: str = ""

    @property
    def remote(self) -> bool:
        return True

    @property
    def description(self) -> str:
        return self.purpose

    @property
    def payload_schema(self) -> dict[str, Any]:
        return dict(self.schema)

    def read(self, payload: Any) -> BaseModel:
        # Schemas that are said to be elsewhere are not fetched.
        faults = list(Draft202012Validator(self.schema, registry=Schemas()).iter_errors(payload))
        if faults:
            raise InvalidPayload(
                {".".join(map(str, fault.absolute_path)): _ended(fault.message) for fault in faults[:MAX_FAULTS]}
            )
        if not isinstance(payload, dict):
            raise InvalidPayload({"": "must be a JSON object."})
        return self.payload.model_validate(payload)


def runs_elsewhere(payload: Any, run: Run) -> None:
    """Stands where other tasks have their handler."""
    raise GiveUpNow("This task is run by workers of its own, and no executor of ours should have been given it.")


def declare(declared: Mapping[str, Any], registry: Registry) -> None:
    """Have the registry know what `REMOTE_TASKS` declares; raise ImproperlyConfigured for what is wrong with it."""
    for name, options in declared.items():
        registry.add(_read(name, options))


def tasks_over_http(registry: Registry) -> list[str]:
    return [name for name in registry.remote_names() if registry.get(name).source is Source.HTTP]


def tasks_from_rabbitmq(registry: Registry) -> list[str]:
    return [name for name in registry.remote_names() if registry.get(name).source is Source.RABBITMQ]


def _read(name: str, options: Any) -> RemoteTask:
    if not isinstance(options, Mapping):
        raise _wrong(name, "is no object", 'Give one, such as {"schema": {"type": "object"}}')
    known = {"schema", "description", "from", "max_retries", *LENGTHS}
    if unknown := sorted(options.keys() - known):
        raise _wrong(name, f"has {unknown[0]!r}, which means nothing", f"Known: {', '.join(sorted(known))}")
    schema = options.get("schema", {"type": "object"})
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise _wrong(name, f"has a schema that is none: {error.message}", "Correct it") from None
    try:
        source = Source(options.get("from", Source.HTTP))
    except ValueError:
        raise _wrong(name, f"comes from {options['from']!r}", f"Choose one of: {', '.join(Source)}") from None
    lengths = [options.get(length) for length in LENGTHS]
    numbers = [options.get("max_retries"), *lengths]
    if not all(one is None or (type(one) in (int, float) and one >= 0) for one in numbers):
        raise _wrong(name, f"has limits that are no numbers: {numbers}", "Give seconds, and a count for max_retries")
    limits = Limits(numbers[0], *(None if one is None else timedelta(seconds=one) for one in lengths))
    purpose = str(options.get("description", ""))
    return RemoteTask(name, runs_elsewhere, AnyObject, limits, schema=schema, source=source, purpose=purpose)


def _wrong(name: str, fact: str, remedy: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"REMOTE_TASKS: {name!r} {fact}. {remedy}.")


def _ended(message: str) -> str:
    return f"{message}."
