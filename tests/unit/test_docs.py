"""The documentation says what the code does."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from django.core.management import CommandError, get_commands

from accounts.api.urls import urlpatterns as of_accounts
from docs.making.pages import PICTURE, made
from jobs.api.urls import urlpatterns as of_jobs
from jobs.demo.jobs import LIVELY, MAILS
from scheduler_project.env import known_names
from tests.deploying import READ_BY_OPENTELEMETRY, parse_command
from tests.pages import typed_commands

ROOT = Path(__file__).parents[2]
PAGES = {
    page: page.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "clients/**/*.md", "examples/*.md")
    for page in ROOT.glob(pattern)
}
CODE = ("scheduler_project", "accounts", "jobs", "scheduling", "execution", "tests", "benchmarks")
SETTING = re.compile(r"\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b")
TO_COME: set[str] = set()  # commands that are named as missing
LINK = re.compile(r"(?:\]\(|src=\")([^)\"\s]+)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PARTS = {"A": 4, "J": 12, "S": 8, "R": 10, "W": 6, "D": 6}  # of the requirements, and how many rows each has
ROWS = [f"{part}{number}" for part, last in PARTS.items() for number in range(1, last + 1)]


def test_the_made_parts_of_the_documentation_are_up_to_date() -> None:
    for path, text in made().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run python -m docs.making"


def test_the_picture_can_be_drawn() -> None:
    assert ElementTree.parse(PICTURE).getroot().tag.endswith("svg")


def test_the_first_words_of_a_first_run_are_as_the_readme_shows_them() -> None:
    assert f"Demo: sign in as admin / admin; {len([*MAILS, *LIVELY])} new demo job(s)." in PAGES[ROOT / "README.md"]


def test_every_link_of_a_page_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page, text in PAGES.items()
        for target in LINK.findall(BLOCK.sub("", text))
        if not leads_somewhere(page, target)
    ]

    assert len(PAGES) > 20
    assert broken == []


def test_every_page_is_within_reach_of_the_readme() -> None:
    seen, to_read = set(), [ROOT / "README.md"]
    while to_read:
        page = to_read.pop()
        seen.add(page)
        targets = {(page.parent / target.partition("#")[0]).resolve() for target in LINK.findall(PAGES[page])}
        to_read += (targets & PAGES.keys()) - seen

    assert [str(page.relative_to(ROOT)) for page in PAGES.keys() - seen] == []


def test_every_test_that_a_page_names_exists() -> None:
    told = "".join(PAGES.values())
    missing = []
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", told):
        file = ROOT / path
        if not file.is_file() or not re.search(rf"(def|class) {name}", file.read_text(encoding="utf-8")):
            missing.append(f"{path}::{name}" if name else path)
    missing += [
        f"python -m {module}"
        for module in re.findall(r"`python -m ([\w.]+)`", told)
        if not (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
        and not (ROOT / module.replace(".", "/") / "__main__.py").is_file()
    ]

    assert missing == []


def test_every_row_of_the_features_names_a_test_or_says_what_is_missing() -> None:
    rows = re.findall(r"^\| ([A-Z]\d+) \| (.*) \| (.*) \|$", PAGES[ROOT / "docs" / "features.md"], re.MULTILINE)

    assert [row for row, _, _ in rows] == ROWS
    assert [row for row, what, shown in rows if "`" not in shown and "Not built yet" not in what] == []


def test_every_setting_command_and_target_that_a_page_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    code = [
        makefile,
        *((ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "compose.yaml")),
        *(file.read_text(encoding="utf-8") for package in CODE for file in ROOT.glob(f"{package}/**/*.py")),
    ]
    known = {word for text in code for word in SETTING.findall(text)} | READ_BY_OPENTELEMETRY | known_names()
    commands, targets = get_commands().keys(), set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page, text in PAGES.items()
        for name in [
            *(set(re.findall(rf"`{SETTING.pattern}", text)) - known),
            *(set(re.findall(r"manage\.py (\w+)", text)) - commands - TO_COME),
            *(set(re.findall(r"`make ([a-z-]+)", text)) - targets),
        ]
    ]

    assert missing == []
    assert TO_COME.isdisjoint(commands), "it is here: the pages that promise it can tell of it now"


def test_every_command_that_a_page_shows_takes_the_arguments_that_are_shown() -> None:
    told = {page: text for page, text in PAGES.items() if page.name != "CHANGELOG.md"}  # it names, nobody types it
    shown = [(page, command) for page, text in told.items() for command in typed_commands(text)]
    refused = []
    for page, command in shown:
        try:
            parse_command(["python", "manage.py", *command])
        except CommandError as error:
            refused.append(f"{page.relative_to(ROOT)}: {' '.join(command)}: {error}")

    assert len(shown) > 30
    assert refused == []


@pytest.mark.parametrize(
    ("page", "commands"),
    [
        ("```sh\nDEMO=true .venv/bin/python manage.py a --b c   # why\n```\n", [["a", "--b", "c"]]),
        ("    $ python manage.py a &\n             → Start one: manage.py b --c.\n", [["a"]]),
        ("    manage.py a --b c\n    manage.py a … --d\n", [["a", "--b", "c"], ["a", "--b", "c", "--d"]]),
        ("```sh\nX=1 \\\n  python manage.py a \\\n  --b\n```\n", [["a", "--b"]]),
        ("So `manage.py a` is a name, and `python manage.py\na --b` is typed.", [["a", "--b"]]),
    ],
)
def test_what_a_page_has_to_be_typed_is_found(page: str, commands: list[list[str]]) -> None:
    assert list(typed_commands(page)) == commands


def test_every_kind_of_route_is_in_the_apis_page() -> None:
    kinds = {re.match(r"[\w-]+", str(route.pattern).lstrip("^"))[0] for route in [*of_accounts, *of_jobs]}

    assert [kind for kind in sorted(kinds) if f"`{kind}" not in PAGES[ROOT / "docs" / "api.md"]] == []


def leads_somewhere(page: Path, target: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return True  # to somebody else's; whether they are there is not ours to test
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.exists() and (not anchor or anchor in anchors(PAGES[file]))


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
