"""The servers of a run, all private, and the databases on them. The machine's own are never touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis

from tests.chaos.plan import DATABASE, RABBITMQ, REDIS
from tests.servers.private import PrivatePostgres, PrivateRabbitMQ, PrivateRedis, PrivateServer

TEMPLATE = "punctual_template"
CTL_PATIENCE = 30  # seconds: rabbitmqctl starts an Erlang machine of its own first


class Servers:
    """PostgreSQL always; Redis and RabbitMQ where the mode has them."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        classes: dict[str, type[PrivateServer]] = {
            DATABASE: PrivatePostgres,
            REDIS: PrivateRedis,
            RABBITMQ: PrivateRabbitMQ,
        }
        self.by_name: dict[str, Any] = {kind: classes[kind]() for kind in kinds}
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        with ThreadPoolExecutor() as pool:
            started = [pool.submit(server.start) for server in self.by_name.values()]
        for server in self.by_name.values():
            self._leaving.callback(server.remove)
        try:
            for one in started:
                one.result()
            self._migrate()
        except BaseException:
            self._leaving.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._leaving.close()

    def url(self, kind: str, *, port: int | None = None, database: str = "", query: str = "") -> str:
        """Where `kind` is reached: directly, or through a wire's `port`."""
        parts = urlsplit(self.by_name[kind].url)
        if port:
            parts = parts._replace(netloc=parts.netloc.replace(f":{self.by_name[kind].port}", f":{port}"))
        if database:
            parts = parts._replace(path=f"/{database}")
        return urlunsplit(parts._replace(query=query))

    def new_database(self, name: str) -> None:
        """A migrated database of this name."""
        with psycopg.connect(self.url(DATABASE), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE {TEMPLATE}')

    def flush_redis(self) -> None:
        with redis.Redis.from_url(self.url(REDIS)) as client:
            client.flushall()

    def set_alarm(self, on: bool) -> None:
        """Raise or end RabbitMQ's memory alarm: while it lasts, publishers are not read from."""
        node = self.by_name[RABBITMQ]
        subprocess.run(
            [node._script.with_name("rabbitmqctl"), "set_vm_memory_high_watermark", "0" if on else "0.4"],
            env=node._environment(node.folder),
            cwd=node.folder,
            check=True,
            capture_output=True,
            timeout=CTL_PATIENCE,
        )

    def kill_backends(self, application: str) -> int:
        """End every connection that the named process has to the database, as an administrator would."""
        with psycopg.connect(self.url(DATABASE), autocommit=True, connect_timeout=2) as connection:
            found = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s",
                [application],
            ).fetchone()
        return found[0] if found else 0

    def _migrate(self) -> None:
        with psycopg.connect(self.url(DATABASE), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        manage(
            "migrate",
            "-v0",
            env=os.environ
            | {
                "DATABASE_URL": self.url(DATABASE, database=TEMPLATE),
                "DJANGO_SETTINGS_MODULE": "scheduler_project.settings",
                "PUNCTUAL_VAR": f"{self.by_name[DATABASE].folder}/var",
            },
        )


def manage(*words: str, env: Mapping[str, str]) -> None:
    subprocess.run([sys.executable, "manage.py", *words], env=dict(env), check=True, timeout=120)
