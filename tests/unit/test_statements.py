"""What pages say about behaviour that is easily said wrong, held to the code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import requires

import pytest
import yaml

from jobs.django_tasks import OPTIONS
from scheduling.recurrence.every import Every
from scheduling.recurrence.parsing import parse_schedule
from tests.deploying import ROOT

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
PAGES = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
DOCKERFILES = [
    (name, found) for name, text in PAGES.items() for found in re.findall(r"```dockerfile\n(.*?)```", text, re.S)
]


def said(page: str, statement: str) -> None:
    """The page says so, however its lines are broken."""
    assert statement in " ".join(PAGES[page].split()), f"{page} no longer says: {statement}"


@pytest.mark.parametrize(
    ("start", "first"), [(None, HOUR), (timedelta(minutes=5), timedelta(minutes=5)), (-HOUR / 12, HOUR - HOUR / 12)]
)
def test_an_interval_first_runs_when_the_page_says(start: timedelta | None, first: timedelta) -> None:
    said("schedules.md", "Without it the first run is one interval after the schedule was set")
    said("schedules.md", "A `start_at` that has passed is not run, only counted from")
    schedule = {"type": "interval", "seconds": 3600} | (
        {} if start is None else {"start_at": (NOW + start).isoformat()}
    )

    assert parse_schedule(schedule, now=NOW).first_run(NOW) == NOW + first
    assert Every(3600, NOW).first_run(NOW) == NOW + HOUR


def test_options_of_django_tasks_are_given_as_the_page_says(tmp_path) -> None:
    [options] = re.findall(r'`(\{"max_retries".*?\})`', PAGES["django-tasks.md"])
    given = {"DJANGO_TASKS_QUEUES": "default", "DJANGO_TASKS_OPTIONS": options, "PUNCTUAL_VAR": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", "import json; from scheduler_project.settings import TASKS; print(json.dumps(TASKS))"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | given,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(done.stdout)["default"]["OPTIONS"] == json.loads(options), done.stderr
    assert json.loads(options).keys() | {"tenant"} == OPTIONS
    said("django-tasks.md", "the option `tenant` (in `DJANGO_TASKS_OPTIONS`)")


@pytest.mark.parametrize(("page", "dockerfile"), DOCKERFILES, ids=[page for page, _ in DOCKERFILES])
def test_an_image_on_top_of_ours_installs_as_root_and_runs_as_nobody(page: str, dockerfile: str) -> None:
    ours = re.findall(r"^USER (.+)$", (ROOT / "Dockerfile").read_text(), re.M)
    user = ours[-1]
    for instruction, *_, rest in (line.partition(" ") for line in dockerfile.splitlines()):
        if instruction == "USER":
            user = rest
        if instruction == "RUN" and "pip install" in rest:
            assert user == "root", f"{page}: {rest}"

    assert user == ours[-1]


def test_the_overlay_that_the_page_shows_renames_what_the_base_calls_the_image() -> None:
    [shown] = [found for text in PAGES.values() for found in re.findall(r"```yaml\n(images:.*?)```", text, re.S)]
    base = ROOT / "deploy/kubernetes/base"
    called = {line for path in base.glob("*.yaml") for line in re.findall(r"image: (\S+)", path.read_text())}

    assert {each["name"] for each in yaml.safe_load(shown)["images"]} == called
    assert "images" not in yaml.safe_load((base / "kustomization.yaml").read_text())


def test_boto3_can_be_installed_beside_us() -> None:
    said("discussions.md", "croniter takes either version")

    assert requires("croniter") == ["python-dateutil"]  # any


def test_pytest_runs_the_tests_of_a_task_as_the_page_says(tmp_path) -> None:
    said("writing-a-task.md", "After `make .venv/tests`")
    files = re.findall(r"```python shop/(\w+\.py)\n(.*?)```", PAGES["writing-a-task.md"], re.S)
    (shop := tmp_path / "shop").mkdir()
    for name, text in [("__init__.py", ""), *reversed(files)]:  # the first text of a file is the last one written
        (shop / name).write_text(text)

    done = subprocess.run(
        [f"{sys.prefix}/bin/pytest", "-c", ROOT / "pyproject.toml", "-p", "no:cacheprovider", "-n", "0", "shop"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{tmp_path}", "PUNCTUAL_VAR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0 and "3 passed" in done.stdout + done.stderr, done.stdout + done.stderr
