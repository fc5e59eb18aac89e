"""Where a peer is measured: names of its own on the servers, gone afterwards."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pika
import pika.exceptions
import psycopg
import redis

from benchmarks.peers.catalogue import CannotMeasure
from benchmarks.peers.inside import DONE, NAME

QUEUES = ("", ".DQ", ".XQ")  # after the name; Dramatiq has one for delays and one for the dead besides
KEYS = ("redis", "schedule", "results", "counters")  # Huey's, before the name


class NoServer(CannotMeasure):
    """A server that the peer needs and nobody has named."""


@dataclass(frozen=True)
class Place:
    """The name of one run, where its files are, and what its processes have to know."""

    name: str
    folder: Path
    env: dict[str, str]

    @property
    def completed(self) -> int:
        return (self.folder / "done").stat().st_size

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def count(self, query: str) -> int:
        with psycopg.connect(self.env["DATABASE_URL"], autocommit=True) as connection:
            row = connection.execute(query).fetchone()
        return int(row[0]) if row else 0

    def tidy(self) -> None:
        """Give the planner the statistics that a table in use has."""
        if "DATABASE_URL" in self.env:
            with psycopg.connect(self.env["DATABASE_URL"], autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")


@contextmanager
def own_place(needs: Collection[str]) -> Iterator[Place]:
    """Names on the servers that `needs` says, by the variables with their addresses."""
    if missing := [variable for variable in needs if not os.environ.get(variable)]:
        raise NoServer(f"{' and '.join(missing)} must say where the peer's servers are.")
    name = f"peer{os.getpid()}x{secrets.token_hex(3)}"
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="punctual-peer-")))
        (folder / "done").touch()
        env = {**os.environ, NAME: name, DONE: str(folder / "done")}
        if "DATABASE_URL" in needs:
            env["DATABASE_URL"] = undo.enter_context(_own_database(env["DATABASE_URL"], name))
        else:
            env.pop("DATABASE_URL", None)
        if "REDIS_URL" in needs:
            undo.callback(_delete_keys, env["REDIS_URL"], name)
        if "AMQP_URL" in needs:
            undo.callback(_delete_queues, env["AMQP_URL"], name)
        yield Place(name, folder, env)


@contextmanager
def arrivals(name: str) -> Iterator[Callable[[], int]]:
    """What tells how many messages wait in a queue, which need not be there yet."""
    with pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"])) as connection:

        def waiting() -> int:
            try:
                with connection.channel() as channel:
                    return int(channel.queue_declare(name, passive=True).method.message_count)
            except pika.exceptions.ChannelClosedByBroker:
                return 0

        yield waiting


@contextmanager
def _own_database(url: str, name: str) -> Iterator[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _delete_keys(url: str, name: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.delete(*(f"huey.{kind}.{name}" for kind in KEYS))


def _delete_queues(url: str, name: str) -> None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        for ending in QUEUES:
            channel.queue_delete(name + ending)
        channel.exchange_delete(name)
