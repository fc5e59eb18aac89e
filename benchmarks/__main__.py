"""`make bench`: measures everything side by side, and ends with one line of JSON. It parses, wires and prints.

python -m benchmarks [--rounds 3] [--quick] [--only NAME,…] [--more]    measures
python -m benchmarks --write-docs                                       fills the documentation from what is kept
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from benchmarks import sizes
from benchmarks.everything import FURTHER, MEASUREMENTS, USUAL, failed, measure
from benchmarks.keeping import LATEST, RESULTS, keep, kept
from benchmarks.report.headline import headline
from benchmarks.report.lines import lines
from benchmarks.report.page import BEGIN, begin, filled
from benchmarks.report.pictures import pictures
from benchmarks.report.table import as_text
from benchmarks.scaling import __main__ as scaling
from benchmarks.servers import ServersMissing, servers

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def main() -> int:
    options = _parser().parse_args()
    if options.write_docs:
        return _write_docs()
    size = (sizes.quick if options.quick else sizes.full)(options.rounds)
    try:
        with servers() as described:
            for line in described:
                _say(line)
            results = measure(size, options.only or list(FURTHER if options.more else USUAL), _say)
    except ServersMissing as error:
        sys.exit(str(error))
    keep(results)
    _say(f"\n{as_text(lines(results))}\n")
    _say(json.dumps(headline(results)))
    return int(failed(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure everything side by side.")
    parser.add_argument("--rounds", type=int, default=3, help="of ours, the bare pipeline and the peers (default: 3)")
    parser.add_argument("--quick", action="store_true", help="just enough of everything to see that it works")
    parser.add_argument("--only", type=_names, default=[], help=", ".join(MEASUREMENTS))
    parser.add_argument("--more", action="store_true", help=f"those that take long instead: {', '.join(FURTHER)}")
    parser.add_argument("--write-docs", action="store_true", help="fill the documentation from the last full run")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(MEASUREMENTS):
        raise argparse.ArgumentTypeError(
            f"No measurement named {', '.join(sorted(unknown))}. There are: {', '.join(MEASUREMENTS)}."
        )
    return names


def _write_docs() -> int:
    if not (latest := kept(LATEST)):
        sys.exit(f"There is no {LATEST} in {RESULTS.name}/. Make it with `make bench`, without QUICK and ONLY.")
    page = filled(PAGE.read_text(encoding="utf-8"), latest, BEGIN)
    for name in FURTHER:
        if results := kept(f"{name}.json"):
            page = filled(page, results, begin(name), pictures(results))
    PAGE.write_text(page, encoding="utf-8")
    return scaling.write_docs()


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an exit that cleans up, as Ctrl-C does
    sys.exit(main())
