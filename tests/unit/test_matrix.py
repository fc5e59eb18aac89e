"""The matrix finds its mirror where apt does, reads what a run has printed, and takes nothing missing for green."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.deploying import ROOT, workflow
from tests.matrix import mirror
from tests.matrix.cells import CELLS, Cell, chosen, packages_of
from tests.matrix.outcome import Outcome, read, table
from tests.matrix.roots import FOLDER, Root
from tests.servers.order import Unavailable

CELL = Cell("redis8", "sid", {"Redis": "8."}, "full", ("tests/engine/test_due_index.py",))
PRINTED = """\
Versions: Python 3.14.10, Django 6.1.3
PostgreSQL: started privately on port 28225 [PostgreSQL 18.6]
Redis: started privately on port 24188; fetching a wheel failed (no network) [Redis 8.0.6]
--- mode full
1 failed, 183 passed, 15 skipped in 83.06s (0:01:23)
10 passed, 2 errors in 3.00s
"""
DEB822 = """\
Types: deb
URIs: http://debian.example.org/debian
Suites: bookworm

Enabled: no
Types: deb
URIs: http://off.example.org/debian
"""
LINES = """\
# deb http://off.example.org/debian sid main
deb [signed-by=/usr/share/keyrings/a.gpg arch=amd64] https://debian.example.org/debian/ bookworm main
"""


def test_the_mirror_is_the_one_that_apt_reads(tmp_path) -> None:
    assert list(mirror.deb822(DEB822)) == ["http://debian.example.org/debian"]
    assert list(mirror.one_line(LINES)) == ["https://debian.example.org/debian/"]

    (tmp_path / "sources.list").write_text("deb https://others.example.org/apt stable main\n")
    with pytest.raises(Unavailable, match="no source"):
        mirror.found(tmp_path)
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d/debian.sources").write_text(DEB822)
    assert mirror.found(tmp_path) == "http://debian.example.org/debian"


def test_versions_and_counts_are_read_from_what_a_run_has_printed() -> None:
    versions, counts = read(PRINTED)

    assert versions == {"Python": "3.14.10", "Django": "6.1.3", "PostgreSQL": "18.6", "Redis": "8.0.6"}
    assert counts == {"passed": 193, "failed": 1, "skipped": 15, "error": 2}


@pytest.mark.parametrize(
    ("outcome", "wrong"),
    [
        (Outcome(CELL, 1, 0, "", {"Redis": "8.0.6"}, {"passed": 3}), ""),
        (Outcome(CELL, 1, 1, "", {"Redis": "8.0.6"}, {"passed": 3}), "exit code 1"),
        (Outcome(CELL, 1, 0, "", {"Redis": "7.0.15"}, {"passed": 3}), "expected Redis 8, got 7.0.15"),
        (Outcome(CELL, 1, 0, "", {}, {"passed": 3}), "expected Redis 8, got none"),
        (Outcome(CELL, 1, 0, "", {"Redis": "8.0.6"}, {"skipped": 3}), "no test has run"),
        (Outcome(CELL, problem="not prepared: no mirror"), "not prepared: no mirror"),
    ],
)
def test_only_a_cell_that_ran_on_the_version_it_is_for_is_green(outcome, wrong) -> None:
    assert outcome.wrong == wrong
    assert table([outcome])[1].endswith(f"FAILED: {wrong}" if wrong else "ok")


def test_cells_are_chosen_by_how_their_names_begin() -> None:
    assert chosen("") == list(CELLS)
    assert [cell.key for cell in chosen("python3.14, postgresql")] == ["python3.14", "postgresql17", "postgresql18"]
    with pytest.raises(ValueError, match=r"Unknown cell: mysql. Known: python3.13, "):
        chosen("mysql")


def test_each_cell_names_tests_that_are_there_and_versions_to_expect() -> None:
    named = [path for cell in CELLS for path in (*cell.files, *cell.ignored)]
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert all(cell.expects for cell in CELLS) and len({cell.key for cell in CELLS}) == len(CELLS)
    assert packages_of("sid") == ["curl", "nodejs", "postgresql", "rabbitmq-server", "redis-server", "valkey-server"]


def test_a_run_knows_nothing_of_the_servers_and_certificates_of_this_machine() -> None:
    base = {"DATABASE_URL": "postgres://x", "SSL_CERT_FILE": "/mine", "PIP_FIND_LINKS": "/mine", "https_proxy": "p"}

    given = Root("sid", FOLDER / "sid").environment(base)

    assert "DATABASE_URL" not in given and given["https_proxy"] == "p"
    assert "/mine" not in given.values()


def test_the_workflow_runs_each_cell() -> None:
    assert workflow()["jobs"]["matrix"]["strategy"]["matrix"]["cell"] == [cell.key for cell in CELLS]


def test_the_documents_name_each_version_that_is_tested() -> None:
    page = (ROOT / "docs/versions.md").read_text()

    for cell in CELLS:
        assert f"`{cell.key}`" in page
        for name, beginning in cell.expects.items():
            assert re.search(rf"{name}\b.*\b{re.escape(beginning.rstrip('.'))}\b", page), (name, beginning)


def test_the_cells_can_be_listed_without_running_any() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tests.matrix", "--list"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert told.stdout.split() == [cell.key for cell in CELLS]
