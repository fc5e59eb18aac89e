"""What a cell came to, read from what its run has printed, and the table of all cells. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.matrix.cells import Cell

COUNTS = ("passed", "failed", "error", "skipped")
SEEN = re.compile(r"(?m)^(?:\w+: .* \[(.+)\]|Versions: (.+))$")
SUMMARY = re.compile(r"(?m)^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s")
HEADINGS = ("cell", "versions", *COUNTS, "time", "")


@dataclass(frozen=True)
class Outcome:
    cell: Cell
    seconds: float = 0
    exit_code: int | None = None  # None: it did not run
    problem: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def wrong(self) -> str:
        """Why the cell is not green; empty if it is."""
        if self.problem:
            return self.problem
        for name, beginning in self.cell.expects.items():
            if not (seen := self.versions.get(name, "")).startswith(beginning):
                return f"expected {name} {beginning.rstrip('.')}, got {seen or 'none'}"
        if self.exit_code:
            return f"exit code {self.exit_code}"
        return "" if self.counts.get("passed") else "no test has run"


def read(printed: str) -> tuple[dict[str, str], dict[str, int]]:
    """The versions that the parts of a run have named, and how many tests ended how, all modes together."""
    named = [word for of_server, of_ours in SEEN.findall(printed) for word in (of_server or of_ours).split(", ")]
    counts: dict[str, int] = {}
    for summary in SUMMARY.findall(printed):
        for part in summary.split(", "):
            number, what = part.split()
            what = what.removesuffix("s") if what.startswith("error") else what
            counts[what] = counts.get(what, 0) + int(number)
    parted = (word.partition(" ") for word in named)
    return {name: version for name, _, version in parted}, counts


def table(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [HEADINGS, *(_row(one) for one in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(one: Outcome) -> tuple[str, ...]:
    versions = ", ".join(f"{name} {version}" for name, version in one.versions.items())
    counts = [str(one.counts.get(what, 0)) for what in COUNTS]
    return (one.cell.key, versions, *counts, f"{one.seconds:.0f} s", f"FAILED: {one.wrong}" if one.wrong else "ok")
