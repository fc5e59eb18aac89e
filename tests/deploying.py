"""Reads what `deploy/`, the Dockerfile and compose.yaml say, and what the code would make of it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.core.management import get_commands, load_command_class
from granian.cli import cli as granian
from opentelemetry.sdk import environment_variables as opentelemetry

from scheduler_project.env import known_names

ROOT = Path(__file__).resolve().parent.parent
KEPT_BY_OTHERS = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "DJANGO_SETTINGS_MODULE"}
READ_BY_OPENTELEMETRY = {name for name in vars(opentelemetry) if name.startswith("OTEL_")}
PRODUCTION_NEEDS = {"SECRET_KEY", "JWT_SIGNING_KEY", "SECRETS_KEY", "ALLOWED_HOSTS"}
FULL_MODE_NEEDS = {"DATABASE_URL", "REDIS_URL", "AMQP_URL"}
PINNED = re.compile(r":v?\d+\.\d+(\.\d+)?[\w.-]*$")


@cache
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


@cache
def workflow() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())


@cache
def settings_read() -> frozenset[str]:
    """The variables that settings.py reads, or those for what is secret, files with them."""
    importlib.import_module("scheduler_project.settings")
    return frozenset(known_names())


def unknown(names: Iterable[str]) -> set[str]:
    """Those that nothing reads: a misspelt one would be ignored without a word."""
    served = {f"GRANIAN_{parameter.name.upper()}" for parameter in granian.params}
    return set(names) - settings_read() - served - KEPT_BY_OTHERS - READ_BY_OPENTELEMETRY


def parse_command(command: list[str]) -> None:
    """Let the management command read its arguments, as it would when it is started."""
    python, manage, name, *arguments = command
    assert (python, manage) == ("python", "manage.py"), command
    app = get_commands()[name]
    parser = load_command_class(app, name).create_parser("manage.py", name)
    parser.parse_args([re.sub(r"\$\{\w+:-(.*)\}", r"\1", argument) for argument in arguments])


def interpolated(environment: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Compose's `${NAME:-default}` and `${NAME:?complaint}` with what `.env` gives, one inside another too."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        return given.get(name) or (rest if kind == "-" else "")

    def filled(text: str) -> str:
        made = re.sub(r"\$\{(\w+):([-?])([^{}]*)\}", value, text)
        return text if made == text else filled(made)

    return {name: filled(str(text)) for name, text in environment.items()}


def in_container(service: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """What a process of a service finds in its environment, where `.env` has this: `environment` counts for more."""
    assert service["env_file"] == [{"path": ".env", "required": False}]
    return {**given, **interpolated(service["environment"], given)}


def complaints(tool: str, *arguments: str | Path) -> str:
    """What a tool among the tests' own packages says against a file: nothing, if it is content."""
    done = subprocess.run(
        [Path(sys.prefix) / "bin" / tool, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    return f"{tool} ended with {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else ""


def documents(folder: str) -> Iterator[dict[str, Any]]:
    """Every object in the files that a kustomization names."""
    base = ROOT / "deploy/kubernetes" / folder
    for name in yaml.safe_load((base / "kustomization.yaml").read_text())["resources"]:
        if (base / name).is_file():
            yield from yaml.safe_load_all((base / name).read_text())
