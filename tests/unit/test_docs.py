"""The documentation says what the code does."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from docs.making.pages import PICTURE, made

ROOT = Path(__file__).parents[2]
PAGES = {
    page: page.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "clients/**/*.md", "examples/*.md")
    for page in ROOT.glob(pattern)
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PARTS = {"A": 4, "J": 12, "S": 8, "R": 10, "W": 6, "D": 6}  # of the requirements, and how many rows each has
ROWS = [f"{part}{number}" for part, last in PARTS.items() for number in range(1, last + 1)]


def test_the_made_parts_of_the_documentation_are_up_to_date() -> None:
    for path, text in made().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run python -m docs.making"


def test_the_picture_can_be_drawn() -> None:
    assert ElementTree.parse(PICTURE).getroot().tag.endswith("svg")


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


def test_every_test_that_the_features_name_exists() -> None:
    features = PAGES[ROOT / "docs" / "features.md"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    missing = []
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", features):
        file = ROOT / path
        if not file.is_file() or not re.search(rf"(def|class) {name}", file.read_text(encoding="utf-8")):
            missing.append(f"{path}::{name}" if name else path)
    missing += [f"make {target}" for target in re.findall(r"`make ([\w-]+)", features) if target not in targets]
    missing += [
        f"python -m {module}"
        for module in re.findall(r"`python -m ([\w.]+)`", features)
        if not (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
        and not (ROOT / module.replace(".", "/") / "__main__.py").is_file()
    ]

    assert missing == []


def test_every_row_of_the_features_names_a_test_or_says_what_is_missing() -> None:
    rows = re.findall(r"^\| ([A-Z]\d+) \| (.*) \| (.*) \|$", PAGES[ROOT / "docs" / "features.md"], re.MULTILINE)

    assert [row for row, _, _ in rows] == ROWS
    assert [row for row, what, shown in rows if "`" not in shown and "Not built yet" not in what] == []


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
