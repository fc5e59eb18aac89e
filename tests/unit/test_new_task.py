"""A task that `new_task` has written works at once, and nothing that was there is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from execution.new_task import Refused, write_task
from execution.registry import Registry, registry


def test_what_is_written_passes_its_own_test_and_a_second_joins_it(tmp_path: Path) -> None:
    first = write_task("send_report", "reports", folder=tmp_path, registry=registry)
    second = write_task("send_summary", "reports", folder=tmp_path, registry=registry)

    assert first.made_app and not second.made_app and first.tasks == second.tasks
    configuration = settings.BASE_DIR / "pyproject.toml"
    pytest_ = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(configuration), f"--rootdir={tmp_path}"]
    with_pytest = python(tmp_path, *pytest_, str(tmp_path / "reports"))
    without = python(tmp_path, str(settings.BASE_DIR / "manage.py"), "test", "reports")
    assert with_pytest.returncode == 0 and "...." in with_pytest.stdout, with_pytest.stdout + with_pytest.stderr
    assert without.returncode == 0 and "Ran 4 tests" in without.stderr, without.stdout + without.stderr


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {
        "PYTHONPATH": f"{settings.BASE_DIR}:{folder}",
        "DJANGO_SETTINGS_MODULE": "scheduler_project.settings",
    }
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True)


def test_the_command_writes_where_one_stands_and_tells_the_next_step(tmp_path: Path) -> None:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "new_task", "greet", "--app", "shop"]
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings"}

    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    again = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    assert done.stdout.splitlines() == [
        "Written: shop/tasks.py, shop/test_greet.py",
        "Try it:  python manage.py test shop.test_greet",
        "Run it:  put shop into EXTRA_APPS, as in: EXTRA_APPS=shop make run",
    ], done.stderr
    assert again.returncode and "stays as it is" in again.stderr


@pytest.mark.parametrize("name", ["", "Greet", "two words", "../greet", "class", "1st", "a.b", "x" * 61])
@pytest.mark.parametrize("which", ["task", "app"])
def test_a_name_that_python_could_not_have_is_refused(tmp_path, name, which) -> None:
    task, app = (name, "shop") if which == "task" else ("greet", name)

    with pytest.raises(Refused, match="cannot name"):
        write_task(task, app, folder=tmp_path, registry=Registry())

    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_refused(tmp_path) -> None:
    with pytest.raises(Refused, match="already"):
        write_task("send_email", "shop", folder=tmp_path, registry=registry)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tasks.py", "import nothing_of_ours\n"),
        ("tasks.py", "from execution.registry import Run, task\n\ndef greet(): ...\n"),
        ("test_greet.py", "my own\n"),
    ],
)
def test_a_file_that_is_somebodys_stays_as_it_is(tmp_path, file, text) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / file).write_text(text)

    with pytest.raises(Refused, match="stays as it is"):
        write_task("greet", "shop", folder=tmp_path, registry=Registry())

    assert [one.name for one in (tmp_path / "shop").iterdir()] == [file]
    assert (tmp_path / "shop" / file).read_text() == text
