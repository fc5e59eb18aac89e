"""Private servers as containers, where a Docker engine runs: one compose project for each server.

`docker compose up` stays attached as a child of ours. When the run is killed it gets SIGTERM from
the kernel, and stops its containers on the way out: a detached project would run on for ever.
"""

import os
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.servers import probe
from tests.servers.kinds import Kind
from tests.servers.order import Obtained, Unavailable
from tests.servers.private import ending
from tests.servers.private.process import ChildProcess

COMPOSE_FILE = Path(__file__).with_name("compose.yaml")
ENGINE_PATIENCE = 5  # seconds for `docker info`: an engine that is slower is no help
UP_PATIENCE = 300  # seconds, the download of the image included
ANSWER_PATIENCE = 60  # seconds from a running container to a server that answers

# The port inside the container, and the URL of it outside; the credentials are compose.yaml's.
URLS = {
    Kind.POSTGRESQL: (5432, "postgres://postgres:postgres@{address}/postgres"),
    Kind.REDIS: (6379, "redis://{address}/0"),
    Kind.RABBITMQ: (5672, "amqp://guest:guest@{address}/%2F"),
}


def in_a_container(kind: Kind) -> Obtained:
    """Give a server in a container of its own, on a free port of the loopback."""
    _require_engine()
    project = Project(kind)
    try:
        url = project.up()
    except BaseException:
        project.down()
        raise
    return Obtained(url, f"started in a container on {probe.address(url)}", project.down)


class Project:
    """One service of compose.yaml, under a name that no other run uses."""

    def __init__(self, kind: Kind):
        self.kind = kind
        self.name = f"punctual-tests-{os.getpid()}-{kind.key}"
        self._folder = Path(mkdtemp(prefix=f"{self.name}-"))
        self._process: ChildProcess | None = None
        self._call_off_down = ending.on_exit(self.down)

    def up(self) -> str:
        """Start the container and return the server's URL once it answers."""
        self._process = ChildProcess([*self._compose(), "up", "--no-color", self.kind.key], log=self._folder / "log")
        inside, template = URLS[self.kind]
        url = template.format(address=self._published_address(inside))
        deadline = time.monotonic() + ANSWER_PATIENCE
        while True:
            self._check_alive()
            try:
                probe.answers(self.kind, url)
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return url

    def down(self) -> None:
        """Stop and delete the container and its data."""
        if self._process is not None:
            self._process.stop(grace=20)
            self._process = None
            _docker(*self._compose()[1:], "down", "--volumes", "--timeout", "5", patience=60)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._call_off_down()

    def _compose(self) -> list[str]:
        return ["docker", "compose", "--project-name", self.name, "--file", str(COMPOSE_FILE)]

    def _published_address(self, inside: int) -> str:
        deadline = time.monotonic() + UP_PATIENCE
        while time.monotonic() < deadline:
            self._check_alive()
            asked = _docker(*self._compose()[1:], "port", self.kind.key, str(inside), patience=10)
            published = asked.stdout.strip() if asked and asked.returncode == 0 else ""
            if published and not published.endswith(":0"):  # :0 until the container runs
                return published
            time.sleep(0.3)
        raise self._failed(f"no container after {UP_PATIENCE} s")

    def _check_alive(self) -> None:
        if self._process is None or (code := self._process.exit_code()) is None:
            return
        raise self._failed(f"`docker compose up` ended with code {code}: {self._process.last_words(4)}")

    def _failed(self, why: str) -> Unavailable:
        return Unavailable(
            f"Docker gave no {self.kind.title} ({why})",
            f"make `docker compose --file tests/servers/compose.yaml up {self.kind.key}` work",
            surprising=True,
        )


@cache
def _require_engine() -> None:
    remedy = "start a Docker engine that has `docker compose`"
    if shutil.which("docker") is None:
        raise Unavailable("there is no docker command", remedy)
    for words in (["info"], ["compose", "version"]):
        asked = _docker(*words, patience=ENGINE_PATIENCE)
        if asked is None or asked.returncode != 0:
            raise Unavailable(f"`docker {' '.join(words)}` fails", remedy)


def _docker(*words: str, patience: float) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            ["docker", *words],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
