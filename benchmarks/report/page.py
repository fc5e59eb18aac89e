"""The part of the documentation that a run writes: between two marks, so that the words around it stay a person's."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.report.headline import Results
from benchmarks.report.lines import lines
from benchmarks.report.table import as_markdown

MADE, END = "made by python -m benchmarks --write-docs -->", "<!-- end -->"
BEGIN = f"<!-- {MADE}"


class NoPlace(Exception):
    """A page without the marks."""


def begin(further: str) -> str:
    """The mark before the table of a measurement that is kept by itself."""
    return f"<!-- {further}, {MADE}"


def filled(page: str, results: Results, mark: str = BEGIN, pictured: Iterable[str] = ()) -> str:
    """The page with the table of these results, after that mark, and with these pictures."""
    before, found, rest = page.partition(mark)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise NoPlace(f"The page has no place for the table: put {mark} and {END} on lines of their own.")
    shown = "".join(f"\n![{name}](../benchmarks/results/{name})\n" for name in pictured)
    return f"{before}{mark}\n{_preface(results)}\n\n{as_markdown(lines(results))}\n{shown}{END}{after}"


def _preface(results: Results) -> str:
    run = results["run"]
    size = "A quick run, to see that it works; its figures say little" if run["quick"] else "A full run"
    return (
        f"{size}: {run['date']}, {run['rounds']} round(s), {run['cores']} cores, Python {run['python']}, "
        f"everything on one machine. It took {run['minutes']} minutes."
    )
