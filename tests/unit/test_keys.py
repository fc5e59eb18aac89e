"""A key that is no protection is refused before anything is signed with it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scheduler_project.keys import MIN_BYTES, shared_keys, short_keys
from tests.deploying import ROOT

GOOD = {
    name: letter * 2 * MIN_BYTES
    for name, letter in zip(("SECRETS_KEY", "SECRET_KEY", "JWT_SIGNING_KEY"), "abc", strict=True)
}
PROCESSES = {
    "web": ["-c", "import scheduler_project.wsgi"],
    "poller": ["manage.py", "run_poller", "--help"],
    "migrations": ["manage.py", "migrate", "--help"],
}


def begin(process: str, path: object, **env: str) -> subprocess.CompletedProcess[str]:
    inherited = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "scheduler_project.settings"}
    return subprocess.run(
        [sys.executable, *PROCESSES[process]],
        cwd=ROOT,
        env=inherited | {"PUNCTUAL_VAR": str(path), "ALLOWED_HOSTS": "localhost"} | GOOD | env,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(("key", "faults"), [("", 1), ("k" * 31, 1), ("k" * 32, 0), ("é" * 16, 0)])
def test_a_key_is_as_long_as_the_hash_that_it_is_for(key: str, faults: int) -> None:
    told = short_keys({"JWT_SIGNING_KEY": key})

    assert len(told) == faults
    assert all("Set JWT_SIGNING_KEY" in fault and f"'{key}'" not in fault for fault in told)


def test_of_two_keys_that_are_the_same_the_one_that_can_be_changed_is_named() -> None:
    told = shared_keys(dict.fromkeys(GOOD, "k" * 40))

    assert [fault.split(" ")[0] for fault in told] == ["SECRET_KEY", "JWT_SIGNING_KEY", "JWT_SIGNING_KEY"]
    assert shared_keys(GOOD) == []


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"JWT_SIGNING_KEY": "guess"}, "JWT_SIGNING_KEY has 5 bytes"),
        ({"JWT_SIGNING_KEY": GOOD["SECRET_KEY"]}, "JWT_SIGNING_KEY and SECRET_KEY are the same"),
    ],
    ids=["short", "shared"],
)
def test_in_production_no_process_starts_with_a_weak_key(tmp_path, process, changed, told) -> None:
    done = begin(process, tmp_path, PRODUCTION="true", **changed)

    assert done.returncode != 0 and told in done.stderr.splitlines()[-1]
    assert "guess." not in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("process", PROCESSES)
def test_in_production_every_process_starts_with_good_keys(tmp_path, process) -> None:
    done = begin(process, tmp_path, PRODUCTION="true")

    assert done.returncode == 0, done.stderr
