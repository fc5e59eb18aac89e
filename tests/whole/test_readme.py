"""The README's walk is done as it stands, and its answers look as they are shown."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.whole.processes import free_port, ready_address, start

# What it speaks to is the same in every mode.
pytestmark = pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode")

README = (settings.BASE_DIR / "README.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
STEP = re.compile(r"^```sh\n(.*?)^```\n(?:^```json\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AND_MORE = '"…": null'  # stands for the members of an object that are left out


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


STEPS = STEP.findall(section("A walk with curl"))  # what is asked, and the answer that is shown


@pytest.fixture
def address() -> Iterator[str]:
    process = start("manage.py", "run_all", "--port", str(free_port()))
    yield ready_address(process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


def test_every_step_of_the_walk_works_as_it_stands(address: str, tmp_path: Path) -> None:
    walk = "".join(f"{{ {step} }} > {tmp_path}/{number}\n" for number, (step, _) in enumerate(STEPS))
    (from_python,) = PYTHON.findall(section("From Python, and from a terminal"))

    walked = run("bash", "-c", f"set -euo pipefail\n{walk}".replace(ADDRESS, address))
    called = run(sys.executable, "-c", from_python.replace(ADDRESS, address))

    assert walked.returncode == 0, walked.stdout + walked.stderr
    for number, (step, shown) in enumerate(STEPS):
        lines = (tmp_path / str(number)).read_text(encoding="utf-8").splitlines()
        assert shown and lines, f"nothing is shown, or answered:\n{step}"
        compare(json.loads(shown.replace("…}", f"{AND_MORE}}}")), json.loads(lines[-1]), step)
        if "Idempotency-Key" in step:
            assert lines[0].lower() == "idempotency-replayed: true"
    assert called.stdout == "COMPLETED {'recipients': ['you@example.com']}\n", called.stderr


def run(*command: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(settings.BASE_DIR / "clients" / "python")}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


def compare(shown: Any, came: Any, step: str) -> None:
    """The same members in the same places, and the same words where no id or time is in them."""
    match shown:
        case dict():
            assert isinstance(came, dict), f"{came} instead of {shown}:\n{step}"
            left_out = came.keys() - shown.keys()
            assert shown.keys() - came.keys() <= {"…"} and (not left_out or "…" in shown), f"{came.keys()}:\n{step}"
            for name in shown.keys() - {"…"}:
                compare(shown[name], came[name], step)
        case list():
            assert isinstance(came, list) and len(came) == len(shown), f"{came} instead of {shown}:\n{step}"
            for one, other in zip(shown, came, strict=True):
                compare(one, other, step)
        case str() if not re.search(r"[0-9a-f]{16}|\d{4}-\d\d-\d\d|[0-9a-f]{8}-", shown):
            assert came == shown, step
        case _:
            assert type(came) is type(shown), f"{came} instead of {shown}:\n{step}"
