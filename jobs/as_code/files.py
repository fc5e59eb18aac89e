"""Reads and writes files of schedules. What is not understood is refused by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import yaml
from rest_framework.exceptions import ValidationError

from jobs.api.serializers import JOB
from jobs.documents import UnstorableDocument, check_document
from jobs.models import Job
from jobs.new_jobs import NewJob
from jobs.states import JobStatus

ENV = "$env"
MARKER = "managed:"  # a tag of all jobs of a file, followed by what the file calls itself
SET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
KEYS = ("set", "tenant", "jobs")


class InvalidFile(ValueError):
    """A file that cannot be carried out; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file says."""

    set: str
    jobs: Sequence[NewJob]
    tenant: str | None = None

    @property
    def marker(self) -> str:
        return f"{MARKER}{self.set}"


class _Loader(yaml.SafeLoader):
    """YAML as JSON has it: times stay texts, and a key that is given twice is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
        if twice is not None:
            raise InvalidFile(f"Line {node.start_mark.line + 1}: {twice!r} is given twice.")
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(text: str, environ: Mapping[str, str] = os.environ) -> Wanted:
    """What the file says, or InvalidFile."""
    try:
        data = yaml.load(text, _Loader)  # a safe one
    except yaml.YAMLError as error:
        raise InvalidFile(f"It is no YAML: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("jobs"), list):
        raise InvalidFile("It has to be an object with `set`, a name, and `jobs`, a list.")
    for key in data:
        if key not in KEYS:
            raise InvalidFile(f"{key!r} is not part of such a file. Allowed: {', '.join(KEYS)}.")
    named = data.get("set")
    if not isinstance(named, str) or not SET_NAME.fullmatch(named):
        raise InvalidFile(
            "`set` has to name the jobs of this file, in small letters, digits and . _ -, such as billing."
        )
    wanted = Wanted(named, [], None if data.get("tenant") is None else str(data["tenant"]))
    jobs = [_read_job(one, place, wanted.marker, environ) for place, one in enumerate(data["jobs"])]
    names = [job.name for job in jobs]
    for name in names:
        if names.count(name) > 1:
            raise InvalidFile(f"Two jobs are called {name!r}. Jobs are known by their names: give each its own.")
    return Wanted(wanted.set, jobs, wanted.tenant)


def _read_job(data: Any, place: int, marker: str, environ: Mapping[str, str]) -> NewJob:
    name = data.get("name") if isinstance(data, dict) else None
    where = f"jobs[{place}]" + (f" ({name})" if name else "")
    if not isinstance(data, dict) or not name:
        raise InvalidFile(f"{where}: a job is an object with a `name`, by which it is known.")
    try:
        check_document(data)
        values = JOB.read({**data, "payload": _filled(data.get("payload", {}), environ)})
    except ValidationError as error:
        raise InvalidFile(f"{where}: {_told(error.detail)}") from None
    except (UnstorableDocument, _Unset) as error:
        raise InvalidFile(f"{where}: {error}") from None
    schedule = values.get("schedule")
    if not isinstance(schedule, dict) or schedule.get("type") == "now":
        raise InvalidFile(f"{where}: `schedule` has to say when; a file is carried out many times, so not 'now'.")
    return NewJob(**values | {"tags": sorted({*values.get("tags", ()), marker})})


class _Unset(ValueError):
    pass


def _filled(document: Any, environ: Mapping[str, str]) -> Any:
    """The document with variables of the environment in their places: secrets need not be in the file."""
    if isinstance(document, dict):
        if document.keys() == {ENV}:
            name = str(document[ENV])
            if name not in environ:
                raise _Unset(f"the variable {name} is not set, which its payload takes a value from.")
            return environ[name]
        return {key: _filled(value, environ) for key, value in document.items()}
    if isinstance(document, list):
        return [_filled(value, environ) for value in document]
    return document


def _told(detail: Any) -> str:
    if isinstance(detail, dict):
        return "; ".join(f"{field}: {_told(messages)}" for field, messages in detail.items())
    return " ".join(map(str, detail)) if isinstance(detail, list) else str(detail)


def write(name: str, jobs: Iterable[Job]) -> str:
    """A file that says what these jobs are. Of secrets it has only the mark that stands for them."""
    data = {"set": name, "jobs": [_entry(job) for job in jobs]}
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _entry(job: Job) -> dict[str, Any]:
    shown = JOB.to_representation(job)
    plain = JOB.to_representation(Job(task=job.task))
    settable = [field.name for field in fields(NewJob) if field.name in shown]
    entry = {key: shown[key] for key in settable if key in ("name", "task", "schedule") or shown[key] != plain[key]}
    entry["tags"] = [tag for tag in job.tags if not tag.startswith(MARKER)]
    if not entry["tags"]:
        del entry["tags"]
    return {key: entry[key] for key in ("name", "task", "schedule", *entry) if key in entry}


def exportable(job: Job) -> bool:
    """Whether it can be kept in a file: it has a name to be known by, and is to run again."""
    return bool(job.name) and job.status in (JobStatus.ACTIVE, JobStatus.PAUSED)
