"""Puts a whole system on the servers: a database of its own, a wire for every link, a slot for every process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos.fleet import Fleet, Slot
from tests.chaos.plan import DATABASE, RABBITMQ, REDIS, Cast
from tests.chaos.servers import Servers
from tests.chaos.wire import Wire
from tests.servers.private.ports import free_port

UNFINISHED = """
    SELECT (SELECT count(*) FROM jobs_execution WHERE status IN ('SCHEDULED', 'QUEUED', 'RUNNING', 'RETRYING'))
         + (SELECT count(*) FROM jobs_execution WHERE status = 'FAILED' AND wake_at IS NOT NULL)
         + (SELECT count(*) FROM jobs_job WHERE next_run_at IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """The settings that recovery times depend on, in seconds."""

    lease: float = 5.0
    poll_lease: float = 3.0
    publish_patience: float = 3.0
    queue_patience: float = 10.0
    retry_base: float = 0.3
    stop_grace: float = 5.0
    misfire_grace: float = 60.0

    def env(self) -> dict[str, str]:
        return {
            "EXECUTION_LEASE": str(self.lease),
            "POLL_LEASE": str(self.poll_lease),
            "PUBLISH_PATIENCE": str(self.publish_patience),
            "QUEUE_PATIENCE": str(self.queue_patience),
            "RETRY_BASE": str(self.retry_base),
            "STOP_GRACE": str(self.stop_grace),
            "MISFIRE_GRACE": str(self.misfire_grace),
        }


@dataclass
class Stage:
    servers: Servers
    cast: Cast
    folder: Path
    name: str  # of the database, and before every name on the other servers
    timing: Timing = field(default_factory=Timing)
    concurrency: int = 16
    extra: Mapping[str, str] = field(default_factory=dict)  # for every process
    trips: Mapping[str, str] = field(default_factory=dict)  # by slot, for its first process

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.servers.new_database(self.name)
        self.direct = self.servers.url(DATABASE, database=self.name)
        self.wires: dict[tuple[str, str], Wire] = {}
        self.web_port = free_port()
        roles = {
            **dict.fromkeys(self.cast.pollers, ("manage.py", "run_poller")),
            **dict.fromkeys(self.cast.executors, ("manage.py", "run_executor", "--concurrency", str(self.concurrency))),
            **dict.fromkeys(self.cast.recoverers, ("manage.py", "run_recoverer")),
            **dict.fromkeys(self.cast.web, ("-m", "scheduler_project.serve", "127.0.0.1", str(self.web_port), "4")),
        }
        self.fleet = Fleet(
            self.folder,
            [Slot(name, command, self.env(name), self._trip(name)) for name, command in roles.items()],
        )

    def env(self, slot: str) -> dict[str, str]:
        """The environment of the process in `slot`, with a wire of its own to each server."""
        ports = {kind: self._wire(slot, kind).port for kind in self.cast.servers}
        inherited = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "AMQP_URL")}
        urls = {
            "DATABASE_URL": self.servers.url(
                DATABASE, port=ports[DATABASE], database=self.name, query=f"application_name={slot}"
            )
        }
        if REDIS in ports:
            urls["REDIS_URL"] = self.servers.url(REDIS, port=ports[REDIS])
        if RABBITMQ in ports:
            urls["AMQP_URL"] = self.servers.url(RABBITMQ, port=ports[RABBITMQ])
        return (
            inherited
            | self.timing.env()
            | urls
            | {
                "DJANGO_SETTINGS_MODULE": "scheduler_project.settings",
                "EXTRA_APPS": "tests.chaos",
                "NAME_PREFIX": f"{self.name}.",
                "PUNCTUAL_VAR": str(self.folder / "var"),
                "LOG_LEVEL": "WARNING",
                "LOG_FORMAT": "json",
                "CHAOS_FOLDER": str(self.folder),
                "CHAOS_SLOT": slot,
                "CHAOS_DIRECT_DATABASE_URL": self.direct,
                "CHAOS_WEB": f"http://127.0.0.1:{self.web_port}",
            }
            | dict(self.extra)
        )

    def unfinished(self) -> int | None:
        """How much is still to be done; None while the database does not answer."""
        found = self.ask(UNFINISHED)
        return found[0][0] if found else None

    def ask(self, query: str) -> list[tuple[Any, ...]] | None:
        """What the database answers on a link that no fault touches; None while it is down."""
        try:
            with psycopg.connect(self.direct, autocommit=True, connect_timeout=2) as connection:
                return connection.execute(query).fetchall()
        except psycopg.OperationalError:
            return None

    def _wire(self, slot: str, kind: str) -> Wire:
        if (slot, kind) not in self.wires:
            self.wires[slot, kind] = Wire(self.servers.by_name[kind].port)
        return self.wires[slot, kind]

    def _trip(self, name: str) -> dict[str, str]:
        return {"CHAOS_TRIP": self.trips[name]} if name in self.trips else {}
