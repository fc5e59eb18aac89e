"""What a test needs and does not find is installed, or told of where nobody can overlook it."""

from __future__ import annotations

import os
import shutil

import pytest

from tests import missing
from tests.servers.order import Unavailable


@pytest.fixture
def installed(monkeypatch) -> list[str]:
    """What is installed meanwhile, by root, on a machine that has apt-get and nothing else."""
    packages: list[str] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(missing, "install_package", packages.append)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in ("apt-get", *packages) else None)
    return packages


def test_a_program_that_is_missing_is_installed_by_root_once(installed) -> None:
    assert missing.needed("hare", package="hare") == missing.needed("hare", package="hare") == "/bin/hare"
    assert installed == ["hare"]


def test_nobody_but_root_installs(installed, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(Unavailable, match="hare is not installed"):
        missing.obtained("hare", package="hares")

    assert installed == []


def test_a_package_without_the_program_is_told_of(installed) -> None:
    with pytest.raises(Unavailable, match="the package hares was installed and brought no hare"):
        missing.obtained("hare", package="hares")


def test_what_cannot_be_tried_is_skipped_here_and_fails_in_ci(installed, monkeypatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"brought no hare\. Put hare on the PATH"):
        missing.needed("hare", package="hares")

    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"brought no hare\. Put hare on the PATH"):
        missing.needed("hare", package="hares")
