"""`python -m benchmarks.scaling [--write-docs]`: what 1,000, 10,000 and 100,000 executions a second would need.

It fails where the model cannot tell the one figure that was measured.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.report.page import END, NoPlace
from benchmarks.scaling.costs import Costs, NotMeasured, read_costs
from benchmarks.scaling.telling import TOLERANCE, told

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
BEGIN = "<!-- made by python -m benchmarks.scaling --write-docs -->"


def filled(page: str, words: str) -> str:
    before, begun, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise NoPlace(f"The page has no place for it: put {BEGIN} and {END} on lines of their own.")
    return f"{before}{BEGIN}\n{words}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help=f"fill {PAGE.name}")
    options = parser.parse_args()
    if options.write_docs:
        return write_docs()
    every = _costs()
    print(told(every))
    return int(any(abs(costs.error) > TOLERANCE for costs in every))


def write_docs() -> int:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), told(_costs())), encoding="utf-8")
    return 0


def _costs() -> list[Costs]:
    try:
        return read_costs()
    except NotMeasured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
