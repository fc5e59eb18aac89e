"""One server, one world, and as many rounds of questions as are wanted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from benchmarks.scratch import own_database
from tests.whole.processes import free_port

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 60  # seconds for the server's first answer
# Nothing that is asked too often is refused for that, and nobody's token runs out.
PATIENT = {
    "LOG_LEVEL": "ERROR",
    "ACCESS_TOKEN_LIFETIME": str(24 * 3600),
    "RATE_LIMIT": "0",
    "KEY_RATE_LIMIT": "0",
    "LOGIN_ATTEMPTS": "1000000",
    "LOGIN_ATTEMPTS_PER_ADDRESS": "1000000",
    "REGISTRATIONS_PER_ADDRESS": "1000000",
}


@dataclass
class Told:
    """What all rounds so far have shown."""

    rounds: int = 0
    cases: int = 0
    failures: list[str] = field(default_factory=list)

    def line(self) -> str:
        return f"fuzz: {self.rounds} round(s), {self.cases:,} cases, {len(self.failures)} failing round(s)"


@dataclass
class Campaign:
    env: dict[str, str]
    address: str
    told: Told = field(default_factory=Told)

    @classmethod
    @contextmanager
    def at_work(cls) -> Iterator[Campaign]:
        """A server on a database of its own: PostgreSQL's if DATABASE_URL names one, a file otherwise."""
        with tempfile.TemporaryDirectory(prefix="punctual-fuzz-") as folder, _database(folder) as database:
            env = os.environ | PATIENT | database | {"PUNCTUAL_VAR": folder, "NAME_PREFIX": f"fuzz-{os.getpid()}."}
            env["DJANGO_SETTINGS_MODULE"] = "scheduler_project.settings"
            _run(env, "manage.py", "migrate", "-v0")
            world = Path(folder, "world.json")
            world.write_text(_run(env, "-m", "tests.fuzz.world"))
            port = free_port()
            # Ends with us, when the pipe that nobody writes to is closed.
            server = subprocess.Popen(
                [sys.executable, "-m", "scheduler_project.serve", "127.0.0.1", str(port), "4"],
                env=env,
                cwd=ROOT,
                stdin=subprocess.PIPE,
            )
            try:
                address = f"http://127.0.0.1:{port}"
                _await(Request(f"{address}/healthz"))
                campaign = cls(env | {"FUZZ_WORLD": str(world)}, address)
                campaign.check_signed_in()
                yield campaign
            finally:
                server.terminate()
                server.wait(PATIENCE)

    def round(self, *, seed: int, examples: int = 50, phases: str = "examples,coverage,fuzzing,stateful") -> None:
        """Ask every operation, `examples` times in each phase that is left to chance."""
        report = Path(self.env["PUNCTUAL_VAR"], "report.json")
        asked = subprocess.run(
            [
                *(str(Path(sys.executable).with_name("st")), "--config-file", str(HERE / "schemathesis.toml"), "run"),
                f"{self.address}/api/schema",
                *("--checks", "all", "--max-examples", str(examples), "--phases", phases, "--seed", str(seed)),
                *("--generation-database", "none", "--no-color", "--warnings", "off"),
                *("--report", "json", "--report-json-path", str(report)),
            ],
            env=self.env | {"SCHEMATHESIS_HOOKS": "tests.fuzz.hooks", "PYTHONPATH": str(ROOT)},
            cwd=self.env["PUNCTUAL_VAR"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        told: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
        self.told.rounds += 1
        self.told.cases += told.get("test_cases", {}).get("generated", 0)
        if asked.returncode:
            self.told.failures.append(asked.stdout)
        self.check_signed_in()

    def check_signed_in(self) -> None:
        """Whoever is not gets a refusal everywhere, which is a good answer too and would hide all others."""
        headers = json.loads(Path(self.env["FUZZ_WORLD"]).read_text())["headers"]
        with urlopen(Request(f"{self.address}/api/v1/jobs", headers=headers), timeout=PATIENCE):
            return


@contextmanager
def _database(folder: str) -> Iterator[dict[str, str]]:
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        with own_database() as database:
            yield database
    else:
        yield {"DATABASE_URL": f"sqlite:///{folder}/punctual.sqlite3"}


def _run(env: dict[str, str], *command: str) -> str:
    return subprocess.run(
        [sys.executable, *command], env=env, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def _await(request: Request) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(request, timeout=5):
                return
        except (URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
