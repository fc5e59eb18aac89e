"""The tutorial is done from its first line to its last, as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.whole.processes import free_port

# Its servers are its own: once is enough.
pytestmark = pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode")

PAGE = settings.BASE_DIR / "docs" / "writing-a-task.md"
BLOCK = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALWAYS = "set -euo pipefail\ntrap 'kill ${PUNCTUAL:-} 2>/dev/null || true' EXIT\n"


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


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The folder that the tutorial is done in: all that is in ours, but nothing that is written gets there."""
    for one in settings.BASE_DIR.iterdir():
        if one.name not in ("var", ".git", "conftest.py") and not one.name.endswith("_cache"):
            (tmp_path / one.name).symlink_to(one)
    return tmp_path


def test_every_step_of_the_tutorial_works_as_it_stands(checkout: Path) -> None:
    page = PAGE.read_text(encoding="utf-8").replace("8000", str(free_port()))
    bin_ = str(Path(sys.executable).parent)
    ours = {"PATH": f"{bin_}:{os.environ['PATH']}", "HOME": str(checkout), "PYTHONPATH": str(checkout)}
    ours |= {"PUNCTUAL_VAR": str(checkout / "var"), "LOG_LEVEL": "WARNING", "PYTHONDONTWRITEBYTECODE": "1"}

    done = subprocess.run(
        ["bash", "-c", script(page)], cwd=checkout, env=ours, capture_output=True, text=True, timeout=170
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "'fraction': 1.0, 'message': 'shelf 50 of 50'" in done.stdout
    assert "{'things': 500}" in done.stdout
    assert '"text":"Counted 500 things"' in done.stdout and '"finished":true' in done.stdout
    assert done.stdout.rstrip().endswith("[100%]"), "the last test of the page passed"
