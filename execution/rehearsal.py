"""Runs a task's handler here and now, as an executor would: for tests of your own tasks.

The payload is checked, the result has to be JSON, and what the handler says is kept. Whatever it raises is raised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from execution.registry import registry
from execution.run import NOBODY, Run, Seat
from execution.voice import Bounds, Line, Step, Voice, Words
from jobs.documents import check_document

ENOUGH = Bounds(lines=10_000, size=10_000_000)


@dataclass
class Rehearsal:
    """What came of it."""

    result: Any = None
    lines: list[str] = field(default_factory=list)
    progress: list[tuple[float, str]] = field(default_factory=list)

    def hear(self, words: Words) -> None:
        match words:
            case Line():
                self.lines.append(words.text)
            case Step():
                self.progress.append((words.fraction, words.message))


class _Stage(Seat):
    __slots__ = ("_last",)

    def __init__(self, rehearsal: Rehearsal, *, to_end: bool, last: bool) -> None:
        super().__init__()
        self.to_end = to_end
        self.voice = Voice(rehearsal.hear, timezone.now, ENOUGH)
        self._last = last

    def is_last(self) -> bool:
        return self._last


def rehearse(
    task: str,
    payload: dict[str, Any] | None = None,
    *,
    attempt: int = 1,
    last_attempt: bool = False,
    cancelled: bool = False,
    tenant_id: UUID = NOBODY,
) -> Rehearsal:
    """Run the task with this payload, once. A handler of batches is given a batch of one."""
    known = registry.get(task)
    rehearsal = Rehearsal()
    stage = _Stage(rehearsal, to_end=cancelled, last=last_attempt)
    run = Run(uuid4(), attempt, tenant_id, stage)
    read = known.read({} if payload is None else payload)
    if known.batch_size is None:
        answer = known.handler(read, run)
    else:
        [answer] = known.handler([read], [run])
    if stage.voice is not None:
        stage.voice.finish()
    if isinstance(answer, BaseException):
        raise answer
    check_document(answer)
    rehearsal.result = json.loads(json.dumps(answer))
    return rehearsal
