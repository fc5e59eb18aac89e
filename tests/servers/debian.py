"""Installs a missing server with apt-get, where the user is root, without starting it.

A package starts its server on the standard port as soon as it is installed. Nobody asked for
that: a policy-rc.d that forbids it is put in place first, and taken away again. One that is there
already belongs to the machine's owner and is left as it is.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.servers import installed
from tests.servers.kinds import Kind
from tests.servers.order import Unavailable
from tests.servers.private import ending

PACKAGES = {Kind.POSTGRESQL: "postgresql", Kind.REDIS: "redis-server", Kind.RABBITMQ: "rabbitmq-server"}
POLICY = Path("/usr/sbin/policy-rc.d")
LOCK = Path("/run/lock/punctual-installs")  # root's own place: only root installs
PATIENCE = 600  # seconds for one apt-get: RabbitMQ brings Erlang along

# Without a network the answer is no, and should come soon.
# Another apt-get may hold dpkg's lock for a while, for example at the first start of a machine.
OPTIONS = [
    "Acquire::Retries=1",
    "Acquire::http::Timeout=20",
    "Acquire::https::Timeout=20",
    "DPkg::Lock::Timeout=120",
]


def install(kind: Kind) -> None:
    """Install the package of `kind`; raise `Unavailable` where that cannot be done."""
    package = PACKAGES[kind]
    if installed.is_installed(kind):
        # It is here, and yet no server came of it: installing it again would change nothing.
        raise Unavailable(f"the package {package} is installed already")
    if os.geteuid() != 0:
        raise Unavailable("apt-get would need root", f"have root run: apt-get install {package}")
    if shutil.which("apt-get") is None:
        raise Unavailable("there is no apt-get here")
    print(f"{kind.title}: installing {package} with apt-get ...", file=sys.stderr, flush=True)
    install_package(package)


def install_package(package: str) -> None:
    """Install a package of Debian's by its name, and start nothing of it."""
    with one_at_a_time(), services_not_started():
        _update()
        _apt_get("install", "-y", "--no-install-recommends", package)


@contextmanager
def one_at_a_time(lock: Path = LOCK) -> Iterator[None]:
    """Wait for other processes of the tests: apt-get refuses a second one, and would find the policy taken away."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def services_not_started(policy: Path = POLICY) -> Iterator[None]:
    """Keep packages from starting their services while they are being installed."""
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")  # 101: the action is forbidden by policy
    call_off = ending.on_exit(lambda: policy.unlink(missing_ok=True))
    try:
        policy.chmod(0o755)
        yield
    finally:
        policy.unlink(missing_ok=True)
        call_off()


@cache
def _update() -> None:
    _apt_get("update")


def _apt_get(*words: str) -> None:
    try:
        done = subprocess.run(
            ["apt-get", *(part for option in OPTIONS for part in ("-o", option)), *words],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(words, f"not done after {PATIENCE} s") from error
    if done.returncode != 0:
        raise _failed(words, (done.stdout.strip().splitlines() or ["no output"])[-1])


def _failed(words: tuple[str, ...], why: str) -> Unavailable:
    line = " ".join(["apt-get", *words])
    return Unavailable(f"`{line}` failed ({why})", f"mend apt-get until `{line}` works", surprising=True)
