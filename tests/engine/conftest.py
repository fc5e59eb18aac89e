"""A whole system in this process, one step at a time, on the servers of the mode under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from pydantic import BaseModel, ConfigDict

from accounts.models import Tenant
from execution.broker import get_broker
from execution.registry import Run, registry, task
from jobs import services
from jobs.models import Job
from jobs.services import NewJob
from tests.alerting import HOURLY, Watched, due_later
from tests.emptying import renew
from tests.engine.system import System, leave_nothing, wipe_broker, wipe_index


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


@pytest.fixture(scope="session", autouse=True)
def no_names_left_on_the_servers() -> Iterator[None]:
    yield
    get_broker().close()
    leave_nothing()


@pytest.fixture(autouse=True)
def empty_servers(transactional_db: None) -> None:
    """Each test begins with its own names empty; the database is emptied by pytest-django."""
    wipe_index()
    wipe_broker()


@pytest.fixture
def new_tables(transactional_db: None) -> None:
    """PostgreSQL's, for tests of its plans, and commits that wait for the disk as everybody's do.

    Before a commit is there, VACUUM cannot tell that all see its rows, and no index alone would answer for them.
    """
    renew()
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")


@pytest.fixture
def system() -> Iterator[System]:
    system = System()
    yield system
    system.stop()


class Recorder:
    """A handler that notes its calls and does as it is told."""

    def __init__(self) -> None:
        self.runs: list[tuple[dict[str, Any], Run]] = []
        self.raises: list[BaseException] = []
        self.answer: Any = None
        self.act: Callable[[Anything, Run], Any] | None = None

    def __call__(self, payload: Anything, run: Run) -> Any:
        self.runs.append((payload.model_dump(), run))
        if self.act:
            return self.act(payload, run)
        if self.raises:
            raise self.raises.pop(0)
        return self.answer


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """The handler of the task `record`."""
    recorder = Recorder()
    recorder.__qualname__ = "recorder"
    task("record", payload=Anything)(recorder)
    yield recorder
    del registry._tasks["record"]


@pytest.fixture
def new_job(team: Tenant, recorder: Recorder):
    """Make a job of the task `record`, or of another."""

    def create(schedule: dict | None = None, task: str = "record", payload: dict | None = None, **rest: Any) -> Job:
        return services.create_job(NewJob(task, payload or {}, schedule, **rest), tenant=team, actor=None)

    return create


@pytest.fixture
def at_rest(new_job) -> Callable[..., Job]:
    """Make a job that is not due while the test lasts."""
    return lambda **more: due_later(new_job(HOURLY, **more))


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.stop()
