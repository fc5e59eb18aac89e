"""What docs/security.md claims is held to it by tests that it names."""

from __future__ import annotations

import re
from datetime import timedelta

from scheduler_project.settings import ACCESS_TOKEN_LIFETIME
from tests.deploying import ROOT

PAGE = (ROOT / "docs/security.md").read_text()
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE))
CLAIMS = ("Signing in", "Between tenants", "What comes in", "What goes out", "Secrets", "Pages", "In production")
LEFT_TO_YOU = "What is left to you:"
POINTER = "More is in"


def claims(section: str) -> list[str]:
    """Paragraphs, and each item of a list by itself."""
    text = section.partition(LEFT_TO_YOU)[0]
    return [part.strip() for part in re.split(r"\n\n|\n(?=- )", text) if part.strip() and POINTER not in part]


def test_each_claim_names_a_test() -> None:
    unheld = [claim for name in CLAIMS for claim in claims(SECTIONS[name]) if "`tests/" not in claim]

    assert unheld == []


def test_each_row_says_what_holds_it_or_that_nothing_does() -> None:
    rows = re.findall(r"(?m)^\| (?!who |---)(.*) \|$", SECTIONS["Who is trusted with what"])
    held = [row.rpartition(" | ")[2] for row in rows]

    assert len(held) > 8
    assert [row for row, by in zip(rows, held, strict=True) if "tests/" not in by and "](#" not in by] == [
        row for row in rows if row.startswith(("**the code", "**whoever has the environment"))
    ]


def test_what_it_says_of_tokens_is_what_is_set() -> None:
    assert timedelta(minutes=15) == ACCESS_TOKEN_LIFETIME and "Access tokens live for 15 minutes" in PAGE


def test_how_to_report_a_hole_is_told_and_leads_here() -> None:
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text() and "SECURITY.md" in PAGE
