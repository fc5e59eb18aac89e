"""What docs/operations.md tells people to type can be typed."""

from __future__ import annotations

import re

from django.core.management import get_commands

from tests.deploying import ROOT, compose, unknown

PAGE = (ROOT / "docs/operations.md").read_text()
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S))


def test_every_command_is_there() -> None:
    assert set(re.findall(r"manage\.py (\w+)", PAGE)) <= get_commands().keys()


def test_every_file_is_there() -> None:
    named = set(re.findall(r"deploy/[\w./-]*\w", PAGE))

    assert len(named) > 4 and [name for name in named if not (ROOT / name).exists()] == []


def test_every_service_is_there() -> None:
    named = set(re.findall(r"docker compose exec (?:-T )?(\w+)", SHELL))
    stopped = re.search(r"docker compose stop (.*)", SHELL)[1].split()

    assert named | set(stopped) <= compose()["services"].keys()
    assert set(re.findall(r"--scale (\w+)=", SHELL)) == {"executor"}


def test_every_setting_is_read_by_somebody() -> None:
    table = PAGE[PAGE.index("## Settings that production needs") : PAGE.index("## Scaling")]
    named = set(re.findall(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+|PRODUCTION)\b", table))

    assert len(named) > 15 and unknown(named) == set()


def test_every_heading_that_is_linked_to_is_there() -> None:
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in re.findall(r"(?m)^#+ .*", PAGE)
    }

    assert set(re.findall(r"\(#([\w-]+)\)", PAGE)) <= headings


def test_backups_are_made_as_they_are_tried() -> None:
    tried = (ROOT / "tests/whole/backups.py").read_text()

    for program, option in {"pg_dump": "--format=custom", "pg_restore": "--exit-on-error", "dropdb": "--force"}.items():
        assert re.search(rf"{program} .*{option}", SHELL) and f'"{program}", "{option}"' in tried
    for command in (".backup", ".restore"):
        assert f'"{command} ' in SHELL and f'f"{command} ' in tried
