"""The tutorial and the README's walk, done as they stand by somebody who has run `make run` and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from tests import environments
from tests.missing import not_tried
from tests.pages import compare, read_answer, section, steps
from tests.whole.processes import eventually, free_port, ready_address

# Its servers are its own: once is enough.
pytestmark = [
    pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode"),
    pytest.mark.timeout(environments.PATIENCE),
]

TUTORIAL = (settings.BASE_DIR / "docs" / "writing-a-task.md").read_text(encoding="utf-8")
README = (settings.BASE_DIR / "README.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALWAYS = "set -euo pipefail\ntrap 'kill ${PUNCTUAL:-} 2>/dev/null || true' EXIT\n"
NOT_CLONED = shutil.ignore_patterns(
    ".git", ".venv*", "var", "*_cache", "__pycache__", ".env", "node_modules", "results", "build", "*.egg-info"
)
MONTH = timedelta(days=30)


def script(page: str) -> str:
    """Its commands in their order, with its files written where they stand."""
    steps = [ALWAYS]
    for language, file, text in BLOCK.findall(page):
        match language, file:
            case "sh", "":
                steps.append(text)
            case "python", str(file) if file:
                steps.append(f"cat > {file} <<'END_OF_FILE'\n{text}END_OF_FILE\n")
            case _:
                raise AssertionError(f"nobody runs this block: {language} {file}\n{text}")
    return "".join(steps)


class Newcomer:
    """Somebody with a clone of their own, and no packages but those that `make run` installs."""

    def __init__(self, clone: Path, home: Path) -> None:
        self.clone = clone
        self.database = home / "var" / "punctual.sqlite3"
        named = ("PIP_", "SSL_", "LANG", "LC_")
        ours = {name: value for name, value in os.environ.items() if name.startswith(named)}
        self.env = ours | {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)}
        self.env |= {"PUNCTUAL_VAR": str(home / "var"), "LOG_LEVEL": "WARNING"}

    def types(self, commands: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", commands], cwd=self.clone, env=self.env, capture_output=True, text=True, timeout=300
        )

    @contextmanager
    def starts(self, *command: str) -> Iterator[str]:
        """The address that it serves at, until Ctrl-C."""
        process = subprocess.Popen(
            command,
            cwd=self.clone,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield ready_address(process)
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)

    def makes_it_run(self) -> AbstractContextManager[str]:
        return self.starts("make", "run", f"PORT={free_port()}")

    def asked(self, question: str) -> list[tuple]:
        with sqlite3.connect(self.database) as database:
            return database.execute(question).fetchall()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With an environment that the Makefile has made from requirements.txt."""
    if shutil.which("make") is None:
        not_tried("make is not installed. Have root run: apt-get install make")
    clone = tmp_path_factory.mktemp("newcomer") / "punctual"
    shutil.copytree(settings.BASE_DIR, clone, ignore=NOT_CLONED)
    command = ["make", ".venv/runs", f"PYTHON={sys.executable}"]
    made = subprocess.run(command, cwd=clone, env=environments.alone(), capture_output=True, text=True)
    if made.returncode:
        not_tried(f"{' '.join(command)} failed: {made.stderr.strip()[-500:]}")
    return clone


@pytest.fixture
def newcomer(clone: Path, tmp_path: Path) -> Newcomer:
    return Newcomer(clone, tmp_path)


def test_every_step_of_the_tutorial_works_with_what_make_run_has_installed(newcomer: Newcomer) -> None:
    page = TUTORIAL.replace("8000", str(free_port()))
    with newcomer.makes_it_run():
        pass

    done = newcomer.types(script(page))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "'fraction': 1.0, 'message': 'shelf 50 of 50'" in done.stdout
    assert "{'things': 500}" in done.stdout
    assert '"text":"Counted 500 things"' in done.stdout and '"finished":true' in done.stdout
    assert [int(count) for count in re.findall(r"^Ran (\d) tests? ", done.stderr, re.MULTILINE)] == [2, 2, 1]
    assert newcomer.types(".venv/bin/python -c 'import pytest'").returncode == 1, "the environment is a developer's"


def test_a_demo_that_is_started_again_later_starts_from_now(newcomer: Newcomer) -> None:
    with newcomer.makes_it_run():
        pass
    passed = f"{timezone.now() - MONTH:%Y-%m-%d %H:%M:%S}"
    with sqlite3.connect(newcomer.database) as database:
        database.execute(f"UPDATE jobs_job SET next_run_at = '{passed}' WHERE status = 'ACTIVE'")
        database.execute(f"UPDATE jobs_watch SET looked_at = '{passed}'")
    before = newcomer.asked("SELECT id FROM jobs_execution")
    overdue = f"SELECT id FROM jobs_job WHERE next_run_at <= '{passed}'"
    looked = f"SELECT id FROM jobs_watch WHERE looked_at > '{passed}'"
    served = "SELECT id FROM jobs_presence WHERE tasks LIKE '%demo_ping%'"

    with newcomer.starts(".venv/bin/python", "manage.py", "run_all", "--port", str(free_port())):
        eventually(lambda: newcomer.asked(looked) and newcomer.asked(served) and not newcomer.asked(overdue))

    assert newcomer.asked("SELECT kind, title FROM jobs_incident WHERE kind IN ('missed', 'late', 'no_executor')") == []
    made_up_for = "SELECT id FROM jobs_execution WHERE status != 'SKIPPED' AND due_at <= datetime('now', '-1 hours')"
    assert [pk for pk in newcomer.asked(made_up_for) if pk not in before] == []


def test_every_step_of_the_readme_works_with_what_make_run_has_installed(newcomer: Newcomer, tmp_path: Path) -> None:
    walk = steps(section(README, "A walk with curl"))
    client = section(README, "From Python, and from a terminal")
    install, listing = re.findall(r"^```sh\n(.*?)^```$", client, re.MULTILINE | re.DOTALL)
    [code] = re.findall(r"^```python\n(.*?)^```$", client, re.MULTILINE | re.DOTALL)
    typed = "".join(f"{{ {step} }} > {tmp_path}/{number}\n" for number, (step, _) in enumerate(walk))

    with newcomer.makes_it_run() as address:
        walked = newcomer.types(f"set -euo pipefail\n{typed}".replace(ADDRESS, address))
        called = newcomer.types(f"{install}.venv/bin/python - <<'END'\n{code}END\n".replace(ADDRESS, address))
        listed = newcomer.types(f"export PUNCTUAL_URL={address}\n{listing}")

    assert walked.returncode == 0, walked.stdout + walked.stderr
    for number, (step, shown) in enumerate(walk):
        lines = (tmp_path / str(number)).read_text(encoding="utf-8").splitlines()
        compare(read_answer(shown), json.loads(lines[-1]), step)
    assert called.stdout.endswith("COMPLETED {'recipients': ['you@example.com']}\n"), called.stdout + called.stderr
    assert listed.returncode == 0 and "Every ten minutes" in listed.stdout, listed.stdout + listed.stderr
