"""Tasks for workers in other languages are declared by name and schema, and mistakes in that are told at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel

from execution.processes import make_executor
from execution.registry import InvalidPayload, Registry, Task, UnknownTask
from execution.remote import Source, declare

SCHEMA = {
    "type": "object",
    "properties": {"url": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
    "required": ["url"],
    "additionalProperties": False,
}


def declared(options: Any) -> Task:
    registry = Registry()
    declare({"resize": options}, registry)
    return registry.get("resize")


def test_a_payload_is_checked_against_the_schema_and_every_field_told() -> None:
    task = declared({"schema": SCHEMA})

    assert task.read({"url": "https://example.com", "sizes": [1, 2]}).model_dump()["sizes"] == [1, 2]
    with pytest.raises(InvalidPayload) as refused:
        task.read({"url": 1, "sizes": [1, "two"]})
    assert set(refused.value.errors) == {"url", "sizes.1"}
    with pytest.raises(InvalidPayload, match="'url' is a required property"):
        task.read({})
    with pytest.raises(InvalidPayload, match="not of type 'object'"):
        task.read([])


def test_the_schema_is_published_as_it_was_declared() -> None:
    task = declared({"schema": SCHEMA, "description": "Make it smaller."})

    assert task.payload_schema == SCHEMA and task.description == "Make it smaller."


def test_without_a_schema_any_object_will_do() -> None:
    assert declared({}).read({"a": {"b": []}})
    with pytest.raises(InvalidPayload):
        declared({}).read("text")


def test_limits_and_source_are_the_declaration_s() -> None:
    task = declared({"from": "rabbitmq", "max_retries": 7, "lease": 30, "time_limit": 5.5})

    assert task.remote and task.source is Source.RABBITMQ
    assert task.limits.max_retries == 7 and task.limits.lease.total_seconds() == 30
    assert task.limits.retry_delay is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "is no object"),
        ({"shema": {}}, "'shema', which means nothing"),
        ({"schema": {"type": "objekt"}}, "a schema that is none"),
        ({"from": "kafka"}, "comes from 'kafka'. Choose one of: http, rabbitmq"),
        ({"lease": "long"}, "no numbers"),
        ({"max_retries": -1}, "no numbers"),
    ],
)
def test_a_mistake_in_a_declaration_is_told_at_the_start(options: Any, told: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=told):
        declared(options)


def test_a_remote_task_cannot_take_the_name_of_one_of_ours() -> None:
    registry = Registry()
    registry.add(Task("resize", lambda payload, run: None, BaseModel))

    with pytest.raises(ValueError, match="Two tasks"):
        declare({"resize": {}}, registry)


def test_our_executors_refuse_to_serve_it() -> None:
    with pytest.raises(UnknownTask, match="'resize_video' is run by workers of its own"):
        make_executor(["resize_video"])
