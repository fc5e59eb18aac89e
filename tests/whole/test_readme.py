"""The README's walk is done as it stands, and its answers look as they are shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest
from django.conf import settings

from tests.pages import compare, read_answer, section, steps
from tests.whole.processes import everything, ready_address, typed

# What it speaks to is the same in every mode.
pytestmark = pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode")

README = (settings.BASE_DIR / "README.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
CLIENT = str(settings.BASE_DIR / "clients" / "python")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = steps(section(README, "A walk with curl"))


@pytest.fixture
def address() -> Iterator[str]:
    with everything() as process:
        yield ready_address(process)


def test_every_step_of_the_walk_works_as_it_stands(address: str, tmp_path: Path) -> None:
    walk = "".join(f"{{ {step} }} > {tmp_path}/{number}\n" for number, (step, _) in enumerate(STEPS))
    (from_python,) = PYTHON.findall(section(README, "From Python, and from a terminal"))

    walked = typed(walk.replace(ADDRESS, address))
    called = typed(f"python -c {quote(from_python.replace(ADDRESS, address))}", PYTHONPATH=CLIENT)

    assert walked.returncode == 0, walked.stdout + walked.stderr
    for number, (step, shown) in enumerate(STEPS):
        lines = (tmp_path / str(number)).read_text(encoding="utf-8").splitlines()
        assert shown and lines, f"nothing is shown, or answered:\n{step}"
        compare(read_answer(shown), json.loads(lines[-1]), step)
        if "Idempotency-Key" in step:
            assert lines[0].lower() == "idempotency-replayed: true"
    assert called.stdout == "COMPLETED {'recipients': ['you@example.com']}\n", called.stderr
