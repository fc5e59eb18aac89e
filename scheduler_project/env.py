"""Reads the environment for the settings: one function a kind of value, each wrong value told with its remedy."""

from __future__ import annotations

import json
import os
import secrets
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

env = environ.Env()

# A database host that vanishes without a word would otherwise hold whoever waits for it for minutes.
UNTIL_GIVEN_UP = {
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 10,  # seconds of silence before the first probe
    "keepalives_interval": 5,  # seconds between probes
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds for what was sent to be acknowledged
}

COLLECTORS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
TRACING_NEEDS = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
OTLP = "http/protobuf"


def env_seconds(name: str, default: float) -> timedelta:
    """A positive length of time, given in seconds."""
    text = os.environ.get(name, "")
    try:
        seconds = float(text) if text else float(default)
    except ValueError:
        seconds = -1
    if not 0 < seconds < 10**9:
        raise ImproperlyConfigured(f"{name}={text!r} is not a number of seconds above 0. Give one, such as {default}.")
    return timedelta(seconds=seconds)


def env_count(name: str, default: int) -> int:
    """A whole number of at least one."""
    text = os.environ.get(name, "")
    try:
        count = int(text) if text else default
    except ValueError:
        count = 0
    if count < 1:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number of at least 1. Give one, such as {default}.")
    return count


def env_object(name: str) -> dict[str, Any]:
    """A JSON object, spelled out or in the file that is named; empty where there is none."""
    text = os.environ.get(name, "").strip()
    if not text:
        return {}
    try:
        value = json.loads(text if text.startswith("{") else Path(text).read_text())
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"{name} is neither a JSON object nor a file with one: {error}.") from None
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f"{name} has a {type(value).__name__} where a JSON object is needed.")
    return value


def env_limit(name: str, default: int) -> int:
    """A whole number; 0 stands for no limit."""
    text = os.environ.get(name, "")
    try:
        limit = int(text) if text else default
    except ValueError:
        limit = -1
    if not 0 <= limit < 2**31:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number. Give one, such as {default}; 0 for none.")
    return limit


def env_kept(name: str) -> timedelta | None:
    """For how many seconds something is kept; None, which is also what nothing and 0 mean: for ever."""
    text = os.environ.get(name, "").strip()
    return None if text in ("", "0") else env_seconds(name, 30 * 24 * 3600)


def env_server(name: str, schemes: tuple[str, ...]) -> str:
    """The URL of a server, or nothing."""
    url = os.environ.get(name, "").strip()
    if url and urlsplit(url).scheme not in schemes:
        allowed = " or ".join(f"{scheme}://…" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} must look like {allowed}; it starts with {urlsplit(url).scheme!r}.")
    return url


def env_database(name: str, *, embedded: Path, pool_size: int) -> dict[str, Any]:
    """Django's description of the database that `name` points to, or of the embedded SQLite file."""
    url = env_server(name, ("postgres", "postgresql", "sqlite"))
    database: dict[str, Any] = dict(env.db_url_config(url or f"sqlite:///{embedded}"))
    if database["ENGINE"].endswith("sqlite3"):
        database["OPTIONS"] = {
            # Take the write lock when a transaction begins. A read that turns into a write
            # half-way cannot wait for its turn: SQLite fails it at once.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    else:
        options = database.setdefault("OPTIONS", {})
        for option, value in UNTIL_GIVEN_UP.items():
            options.setdefault(option, value)
        # To compile a query takes longer than any of ours does.
        options.setdefault("options", "-c jit=off")
        # A new connection costs 5 ms, one from the pool 0.7.
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": 10}
    return database


def env_email(name: str) -> dict[str, Any]:
    """Django's mail settings for the server or provider that `name` points to.

    A server is `smtp://user:password@host:25`, `smtp+tls://…` or `smtp+ssl://…`. A provider that django-anymail knows
    is `anymail+postmark://?SERVER_TOKEN=…`: what it asks for in its settings, without the provider's name in front.
    """
    url = os.environ.get(name, "").strip()
    scheme, _, provider = urlsplit(url).scheme.partition("+")
    if scheme != "anymail":
        try:
            return dict(env.email_url_config(url))
        except Exception as error:
            raise ImproperlyConfigured(f"{name} must look like smtp+tls://user:password@host:587: {error}.") from None
    backend = provider.replace("-", "_")
    try:
        found = find_spec(f"anymail.backends.{backend}")
    except ModuleNotFoundError:
        raise ImproperlyConfigured(f"{name} names a provider of django-anymail: pip install django-anymail.") from None
    if not backend.isidentifier() or found is None:
        raise ImproperlyConfigured(
            f"{name}: django-anymail knows no provider {provider!r}. Its documentation lists them."
        )
    options = {f"{backend.upper()}_{key.upper()}": value for key, value in parse_qsl(urlsplit(url).query)}
    return {"EMAIL_BACKEND": f"anymail.backends.{backend}.EmailBackend", "ANYMAIL": options}


def env_tracing(name: str) -> bool:
    """Whether spans are exported: as `name` says, and where it is silent, whether there is somewhere to send them."""
    collectors = [collector for collector in COLLECTORS if os.environ.get(collector, "").strip()]
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if not env.bool(name, default=bool(collectors) and not disabled):
        return False
    asked = f"{name} is on" if name in os.environ else f"{collectors[0]} is set"
    try:
        missing = [needed for needed in TRACING_NEEDS if find_spec(needed) is None]
    except ModuleNotFoundError:
        missing = list(TRACING_NEEDS)
    if missing:
        raise ImproperlyConfigured(
            f"{asked}, and what tracing needs is not installed: pip install '.[tracing]', or set {name}=false."
        )
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    if protocol not in (None, "", OTLP):
        raise ImproperlyConfigured(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol!r} is not spoken here, {OTLP} is. Leave it out, and name the "
            "collector's port for that, mostly 4318."
        )
    return True


def kept_secret(path: Path) -> str:
    """A random key that survives restarts, for whoever has not set one of their own."""
    try:
        return path.read_text()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(64))
    try:
        # Of several processes that start at once, one writes the key that all of them use.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text()
