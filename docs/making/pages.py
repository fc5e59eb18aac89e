"""Where the made parts belong."""

from pathlib import Path

from docs.making.next_runs import table
from docs.making.picture import picture

DOCS = Path(__file__).parent.parent
SCHEDULES = DOCS / "schedules.md"
PICTURE = DOCS / "images" / "clock-changes.svg"
BEGIN, END = "<!-- made by docs.making -->", "<!-- end -->"


def made() -> dict[Path, str]:
    """Return every file with made parts, as it should be."""
    page = SCHEDULES.read_text(encoding="utf-8")
    before, found, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"{SCHEDULES.name} has no place for the table: put {BEGIN} and {END} on lines of their own.")
    return {SCHEDULES: f"{before}{BEGIN}\n{table()}\n{END}{after}", PICTURE: picture()}


def write() -> list[Path]:
    """Write what has changed, and return it."""
    changed = []
    for path, text in made().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
