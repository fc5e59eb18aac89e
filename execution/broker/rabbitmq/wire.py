"""The form of a message on the wire: ids only, never a payload.

    {"v": 1, "task": "send_email", "executions": ["0198...", ...]}

A message of another version is unreadable to us: it is parked, not guessed at.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from uuid import UUID

from execution.broker.base import Message
from jobs.ids import uuid_of

VERSION = 1
CONTENT_TYPE = "application/json"


class Unreadable(ValueError):
    """A body that is none of ours."""


def encode(message: Message) -> bytes:
    executions = [str(execution) for execution in message.executions]
    body = {"v": VERSION, "task": message.task, "executions": executions}
    return json.dumps(body, separators=(",", ":")).encode()


def decode(body: bytes) -> tuple[UUID, ...]:
    """Return the executions a body names; raise Unreadable, saying why, when it is none of ours."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON") from error
    if not isinstance(content, dict):
        raise Unreadable("not an object")
    if content.get("v") != VERSION:
        raise Unreadable(f"version {content.get('v')!r:.40}, we read {VERSION}")
    if not isinstance(content.get("task"), str):
        raise Unreadable("no task")
    executions = content.get("executions")
    if not isinstance(executions, list) or not executions:
        raise Unreadable("no list of executions")
    try:
        return tuple(map(_read, executions))
    except (ValueError, TypeError, AttributeError) as error:
        raise Unreadable("an execution id is not a UUID") from error


def _read(execution: str) -> UUID:
    """An id as we spell it, and any other way that UUID knows, in four times that."""
    if len(execution) == 36 and len(digits := execution.replace("-", "")) == 32:
        return uuid_of(int(digits, 16))
    return UUID(execution)


def without(body: bytes, executions: Collection[UUID]) -> bytes:
    """The same message for all the others it names. The body has to be a readable one."""
    content = json.loads(body)
    content["executions"] = [one for one in content["executions"] if UUID(one) not in executions]
    return json.dumps(content, separators=(",", ":")).encode()
