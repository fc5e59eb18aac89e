"""Whether a server really answers: one protocol round trip with the credentials of its URL.

An open port proves nothing: it may be a stranger's, or still starting, or refuse the password.
A probe reads and never writes: nothing is created in a server that may hold someone's data.
"""

import getpass
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pika
import pika.exceptions
import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.kinds import Kind
from tests.servers.order import Unavailable

PATIENCE = 2  # seconds: a loopback server answers in milliseconds, and a dead one must not hold up the run


def answers(kind: Kind, url: str) -> None:
    """Return when the server at `url` answers and is fit for the tests; else raise `Unavailable`."""
    probes = {Kind.POSTGRESQL: _postgresql, Kind.REDIS: _redis, Kind.RABBITMQ: _rabbitmq}
    try:
        probes[kind](url)
    except Unavailable:
        raise
    except Exception as error:
        # Three client libraries and the socket below them, each with its own family of errors,
        # a malformed URL among them: to the caller they all mean the same, no server here.
        raise Unavailable(f"{address(url)} does not answer ({_one_line(error)})") from error


def version(kind: Kind, url: str) -> str:
    """Return what the server at `url` calls itself, and its version."""
    asked = {Kind.POSTGRESQL: _postgresql_version, Kind.REDIS: _redis_version, Kind.RABBITMQ: _rabbitmq_version}
    try:
        return asked[kind](url)
    except Exception:  # it was asked out of interest: what matters has been found out before
        return f"{kind.title} unknown"


def _postgresql_version(url: str) -> str:
    with psycopg.connect(url, connect_timeout=PATIENCE) as connection:
        [told] = connection.execute("SHOW server_version").fetchone() or ["unknown"]
    return f"PostgreSQL {told.split()[0]}"


def _redis_version(url: str) -> str:
    with _redis_client(url) as client:
        told = client.info("server")
    if told.get("server_name") == "valkey":
        return f"Valkey {told['valkey_version']}"
    return f"Redis {told['redis_version']}"


def _rabbitmq_version(url: str) -> str:
    with _silent("pika"):
        connection = pika.BlockingConnection(_rabbitmq_parameters(url))
        told = connection._impl.server_properties["version"]
        connection.close()
    return f"RabbitMQ {told}"


def address(url: str) -> str:
    """Return host and port for the screen: a URL may carry a password, and is never shown."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else f"{parts.hostname}"
    except ValueError:
        return "an address that is not a URL"


def _postgresql(url: str) -> None:
    parts = urlsplit(url)
    options: dict[str, Any] = {
        key: values[-1] for key, values in parse_qs(parts.query).items() if key.startswith("ssl")
    }
    named = unquote(parts.path.lstrip("/")) or "postgres"
    user = unquote(parts.username or getpass.getuser())

    # The database of the URL need not exist yet: the tests create their own beside it.
    for database in dict.fromkeys([named, "postgres"]):
        try:
            connection = psycopg.connect(
                host=parts.hostname,
                port=parts.port or 5432,
                user=user,
                password=unquote(parts.password) if parts.password else None,
                dbname=database,
                connect_timeout=PATIENCE,
                autocommit=True,
                **options,
            )
            break
        except psycopg.OperationalError as error:
            if database == "postgres" or f'database "{database}" does not exist' not in str(error):
                raise
    with connection:
        allowed = connection.execute(
            "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    if not allowed or not allowed[0]:
        raise Unavailable(
            f"{address(url)} answers, but its user {user!r} may not create the test database",
            f'let it: ALTER ROLE "{user}" CREATEDB',
        )


def _redis(url: str) -> None:
    with _redis_client(url) as client:
        client.ping()


def _redis_client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        retry=Retry(NoBackoff(), 0),  # the client's default is to try for seconds
    )


def _rabbitmq(url: str) -> None:
    with _silent("pika"):
        pika.BlockingConnection(_rabbitmq_parameters(url)).close()


def _rabbitmq_parameters(url: str) -> pika.URLParameters:
    parameters = pika.URLParameters(url)
    parameters.socket_timeout = PATIENCE
    parameters.stack_timeout = PATIENCE
    parameters.connection_attempts = 1
    parameters.blocked_connection_timeout = PATIENCE
    return parameters


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keep a library's log off the screen: it reports as errors what is an expected answer here."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _one_line(error: Exception) -> str:
    if isinstance(error, pika.exceptions.AMQPConnectionError) and not str(error):
        # pika wraps the cause twice, and says nothing itself.
        return _one_line(error.args[0]) if error.args else type(error).__name__
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."
