"""Reads the environment for the settings: one function a kind of value, each wrong value told with its remedy.

A variable that is empty is not set. Each name that is asked for is remembered, so that a misspelt one can be told from
a variable of somebody else's (`scheduler_project.names`). What is secret may also be in a file, named by `NAME_FILE`.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured
from environ import Env

from scheduler_project.durations import parse_duration
from scheduler_project.keys import MAKE_ONE
from scheduler_project.private import private_file, private_folder

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
TRACING_PACKAGES = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")
OTLP = "http/protobuf"

YES, NO = ("true", "yes", "on", "1", "y", "ok"), ("false", "no", "off", "0", "n")
FOREVER = ("forever", "0")
NEEDS_UNIT_BELOW = timedelta(hours=1)  # of what is deleted afterwards
IN_A_FILE = "_FILE"  # what follows the name of a secret whose value is in a file

known: dict[str, bool] = {}  # every name that was asked for, and whether it may be in a file


def known_names() -> set[str]:
    return set(known) | {name + IN_A_FILE for name, secret in known.items() if secret}


def given(name: str) -> str:
    """What the environment says, without blanks around it; empty where it says nothing."""
    known.setdefault(name, False)
    return os.environ.get(name, "").strip()


def given_secret(name: str) -> str:
    """The same, or what is in the file that `NAME_FILE` names: a mounted secret is in nobody's environment."""
    text, file = given(name), os.environ.get(name + IN_A_FILE, "").strip()
    known[name] = True
    if not file:
        return text
    if text:
        raise ImproperlyConfigured(f"{name} and {name}{IN_A_FILE} are both set. Unset one of them.")
    try:
        text = Path(file).read_text().strip()
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"{name}{IN_A_FILE}={file!r} cannot be read: {error}.") from None
    if not text:
        raise ImproperlyConfigured(f"{name}{IN_A_FILE}={file!r} is an empty file. Write the value of {name} into it.")
    return text


def env_text(name: str, default: str = "") -> str:
    return given(name) or default


def env_secret(name: str, default: str = "") -> str:
    return given_secret(name) or default


def env_list(name: str, default: Sequence[str] = ()) -> list[str]:
    """Texts, separated by commas."""
    return split(given(name)) or list(default)


def env_secrets(name: str) -> list[str]:
    return split(given_secret(name))


def split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def env_flag(name: str, default: bool) -> bool:
    """Yes or no. Anything else is refused: `PRODUCTION=ture` must not run as if nothing were said."""
    text = given(name).lower()
    if text not in ("", *YES, *NO):
        raise ImproperlyConfigured(f"{name}={given(name)!r} is neither true nor false. Set it to one of them.")
    return text in YES if text else default


def env_seconds(name: str, default: float | str) -> timedelta:
    """A length of time above 0: a number of seconds, or one with units such as `90d`, `1h30m` or `500ms`."""
    length = _length(name, default)
    if not length:
        raise ImproperlyConfigured(f"{name}={given(name)!r} must be longer than 0. The default is {default}.")
    return length


def _length(name: str, default: float | str) -> timedelta:
    try:
        return parse_duration(given(name) or str(default))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


def env_kept(name: str, default: str = "forever") -> timedelta | None:
    """How long something is kept before it is deleted; None for `forever` and for 0."""
    text = given(name) or default
    return None if text.lower() in FOREVER else env_retention(name, default)


def env_retention(name: str, default: str) -> timedelta:
    """How long something is kept before it is deleted.

    A short length needs a unit: `HISTORY_KEPT=90` is more likely meant in days, and what is deleted does not come back.
    """
    text = given(name) or default
    length = env_seconds(name, default)
    if not text[-1:].isalpha() and length < NEEDS_UNIT_BELOW:
        raise ImproperlyConfigured(f"{name}={text!r} lacks a unit. Set it to {text}d for days, or {text}s for seconds.")
    return length


def env_age(name: str, default: str) -> int:
    """A length of time in whole seconds; 0 turns off what it is for."""
    return int(_length(name, default).total_seconds())


def env_count(name: str, default: int) -> int:
    """A whole number of at least one."""
    text = given(name)
    try:
        count = int(text) if text else default
    except ValueError:
        count = 0
    if count < 1:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number of at least 1. Give one, such as {default}.")
    return count


def env_object(name: str) -> dict[str, Any]:
    """A JSON object, spelled out or in the file that is named; empty where there is none."""
    text = given(name)
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
    text = given(name)
    try:
        limit = int(text) if text else default
    except ValueError:
        limit = -1
    if not 0 <= limit < 2**31:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number. Give one, such as {default}; 0 for none.")
    return limit


def env_choice(name: str, choices: tuple[str, ...], default: str = "") -> str:
    """One of a few words; the default, which may be empty, if nothing is said."""
    choice = given(name).lower() or default
    if choice not in choices:
        allowed = ", ".join(filter(None, choices))
        raise ImproperlyConfigured(f"{name}={choice!r} is not one of {allowed}. Set one of them, or unset it.")
    return choice


def env_server(name: str, schemes: tuple[str, ...]) -> str:
    """The URL of a server, which may have a password in it; or nothing."""
    return _with_scheme(name, given_secret(name), schemes)


def env_address(name: str, schemes: tuple[str, ...]) -> str:
    """A URL that everybody may know, or nothing."""
    return _with_scheme(name, given(name), schemes)


def _with_scheme(name: str, url: str, schemes: tuple[str, ...]) -> str:
    if url and urlsplit(url).scheme not in schemes:
        allowed = " or ".join(f"{scheme}://…" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} must look like {allowed}; it starts with {urlsplit(url).scheme!r}.")
    return url


def env_database(name: str, *, embedded: Path, pool_size: int) -> dict[str, Any]:
    """Django's description of the database that `name` points to, or of the embedded SQLite file."""
    url = env_server(name, ("postgres", "postgresql", "sqlite"))
    database: dict[str, Any] = dict(Env.db_url_config(url or f"sqlite:///{embedded}"))
    if database["ENGINE"].endswith("sqlite3"):
        if "?" not in database["NAME"] and ":" not in database["NAME"]:  # a file, not a URI or :memory:
            private_file(Path(database["NAME"]))
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
    url = given_secret(name)
    scheme, _, provider = urlsplit(url).scheme.partition("+")
    if scheme != "anymail":
        try:
            return dict(Env.email_url_config(url))
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
    if not env_flag(name, bool(collectors) and not disabled):
        return False
    asked = f"{name} is on" if given(name) else f"{collectors[0]} is set"
    try:
        missing = [needed for needed in TRACING_NEEDS if find_spec(needed) is None]
    except ModuleNotFoundError:
        missing = list(TRACING_NEEDS)
    if missing:
        raise ImproperlyConfigured(
            f"{asked}, and its packages are missing: pip install {' '.join(TRACING_PACKAGES)}, or set {name}=false."
        )
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    if protocol not in (None, "", OTLP):
        raise ImproperlyConfigured(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol!r} is not spoken here, {OTLP} is. Leave it out, and name the "
            "collector's port for that, mostly 4318."
        )
    return True


def env_key(name: str, kept: Path | None) -> str:
    """A key; where it is not set, one that was made up and is kept in the file, if there may be such a file."""
    if key := given_secret(name):
        return key
    if kept is None:
        raise ImproperlyConfigured(f"{name} is not set, and PRODUCTION needs it. Set it to the output of: {MAKE_ONE}")
    return kept_secret(kept)


def kept_secret(path: Path) -> str:
    """A random key that survives restarts, for whoever has not set one of their own."""
    try:
        return path.read_text()
    except FileNotFoundError:
        pass
    private_folder(path.parent)
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
