"""What the server tells, with types. Whatever it tells besides is in `raw`: a newer server needs no newer client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypeVar

FINAL = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})

M = TypeVar("M", bound="Model")


@dataclass(frozen=True, kw_only=True)
class Model:
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls: type[M], told: Mapping[str, Any], **more: Any) -> M:
        known = {one.name for one in fields(cls)} - {"raw", *more}
        values = {name: _typed(name, value) for name, value in told.items() if name in known}
        return cls(raw=told, **values, **more)


def _typed(name: str, value: Any) -> Any:
    is_instant = name == "since" or name.endswith("_at")
    return datetime.fromisoformat(value) if is_instant and isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class Fault(Model):
    """A field that is wrong, and how."""

    field: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Job(Model):
    id: str
    task: str
    status: str
    name: str = ""
    payload: Any = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    priority: str = "normal"
    tags: list[str] = field(default_factory=list)
    next_run_at: datetime | None = None
    owner: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    omitted: list[str] = field(default_factory=list)  # of one in a list: what is too long for it; `get` has it
    etag: str | None = None


@dataclass(frozen=True, kw_only=True)
class Execution(Model):
    """One run of a job for one due time."""

    id: str
    job: str
    task: str
    status: str
    attempt: int = 0
    cause: str = ""
    due_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    result: Any = None
    error: str = ""
    reason: str = ""
    omitted: list[str] = field(default_factory=list)  # of one in a list: what is too long for it; `get` has it
    again: Callable[[str], Execution] | None = field(default=None, repr=False, compare=False)  # reads it anew

    @property
    def is_over(self) -> bool:
        return self.status in FINAL

    def wait(self, timeout: float = 60.0) -> Execution:
        """The execution once it is over, however it ended; StillGoing if that takes longer than `timeout` seconds."""
        from punctual.waiting import until_over

        return until_over(self, timeout)


@dataclass(frozen=True, kw_only=True)
class Outcome(Model):
    """What became of one of many."""

    status: str
    index: int | None = None
    id: str | None = None
    job: Mapping[str, Any] | None = None
    errors: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Alert(Model):
    """A rule: who is told of what, and how."""

    id: str
    name: str
    channel: str
    emails: list[str] = field(default_factory=list)
    url: str = ""
    job: str | None = None
    tag: str = ""
    kinds: list[str] = field(default_factory=list)
    enabled: bool = True
    created_at: datetime | None = None
    latest_notice: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Incident(Model):
    """Something that is or was wrong with a job."""

    id: str
    kind: str
    title: str
    job: str | None = None
    since: datetime | None = None
    count: int = 1
    cause: str = ""
    error: str = ""
    outcome: str = ""
    execution: str | None = None
    opened_at: datetime | None = None
    recovered_at: datetime | None = None

    @property
    def is_over(self) -> bool:
        return self.recovered_at is not None
