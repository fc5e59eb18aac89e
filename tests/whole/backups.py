"""Backs the database up and puts a backup back, by the commands of docs/operations.md."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from django.db import connection

from tests.missing import not_tried
from tests.whole.processes import environment


def back_up(file: Path) -> None:
    if connection.vendor == "sqlite":
        _run("sqlite3", _name(), f".backup {file}")
    else:
        _run("pg_dump", "--format=custom", f"--file={file}", f"--dbname={_url()}")


def put_back(file: Path) -> None:
    """What was written since is gone afterwards. Nobody else may be connected who minds."""
    connection.close()
    if connection.vendor == "sqlite":
        _run("sqlite3", _name(), f".restore {file}")
        return
    connection.close_pool()
    server = f"--maintenance-db={os.environ['DATABASE_URL']}"
    _run("dropdb", "--force", server, _name())
    _run("createdb", server, _name())
    _run("pg_restore", "--exit-on-error", f"--dbname={_url()}", str(file))


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _url() -> str:
    """As `libpq` reads it: it knows no names of parameters but its own."""
    return urlsplit(environment()["DATABASE_URL"])._replace(query="").geturl()


def _run(program: str, *arguments: str) -> None:
    if not shutil.which(program):
        not_tried(f"{program} is not installed, and a backup is made or restored with it")
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
