"""The client as a package: what is built installs into an empty environment, and does there what its README says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests import environments
from tests.pages import FENCED, dialogue, section
from tests.whole.person import DORA, Person

# What it speaks to is the same in every mode.
pytestmark = [
    pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode"),
    pytest.mark.timeout(environments.PATIENCE),  # it installs packages, twice
]

CLIENT = settings.BASE_DIR / "clients" / "python"
README = (CLIENT / "README.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
NOT_BUILT_FROM = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves things behind where it builds."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(CLIENT, folder / "source", ignore=NOT_BUILT_FROM)
    bin_ = environments.made(folder / "builder", "build")
    subprocess.run([bin_ / "python", "-m", "build", "--outdir", folder, folder / "source"], check=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bin_(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environments.made(tmp_path_factory.mktemp("empty") / "venv", str(wheel))


def typed(bin_: Path, commands: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{bin_}:/usr/bin:/bin"
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{commands}"],
        cwd=bin_,
        env=environments.alone(PATH=path, **env),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_it_works_in_an_empty_environment_and_says_what_an_extra_would_bring(bin_: Path, running: str) -> None:
    person = Person(running)
    ask = {"PUNCTUAL_URL": running, "PUNCTUAL_TOKEN": person.token}

    helped = typed(bin_, "punctual --help", **ask)
    tailed = typed(bin_, "punctual tail --rounds 1", **ask)
    typing = typed(bin_, "python -c 'import punctual, pathlib; print(pathlib.Path(punctual.__file__).parent)'")

    assert helped.returncode == 0 and "PUNCTUAL_URL" in helped.stdout, helped.stderr
    assert tailed.returncode == 0 and "pip install 'punctual-client[cli]'" in tailed.stderr, tailed.stderr
    assert (Path(typing.stdout.strip()) / "py.typed").exists()


def test_its_readme_is_true_from_the_first_line_to_the_last(bin_: Path, wheel: Path, running: str) -> None:
    Person(running)
    environments.installed(bin_, f"{wheel}[cli]")
    [code] = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    commands, _ = dialogue(FENCED.findall(section(README, "From a terminal"))[0])
    assert DORA["password"] in code and DORA["password"] in commands

    called = typed(bin_, f"python - <<'END'\n{code}\nEND\n".replace(ADDRESS, running))
    walked = typed(bin_, commands.replace(ADDRESS, running))

    assert called.stdout.startswith("COMPLETED {'recipients': ['you@example.com']}\nsend_email "), called.stderr
    assert walked.returncode == 0, walked.stdout + walked.stderr
    assert '"status": "COMPLETED"' in walked.stdout and "rich is not installed" not in walked.stderr
