"""Checks every run of the corpus, or writes it anew."""

import argparse
import sys

from tests.golden.entries import CORPUS, RUNS, corpus
from tests.golden.making import entries

LINES = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("act", choices=["check", "write"])
    if parser.parse_args().act == "write":
        return _write()
    return _check()


def _check() -> int:
    known = corpus()
    moved = [line for entry in known if (line := entry.moved(range(RUNS))) is not None]
    for line in moved[:LINES]:
        print(line)
    print(f"{'FAILED' if moved else 'OK'}: {len(moved)} of {len(known):,} schedules have moved.")
    return 1 if moved else 0


def _write() -> int:
    lines = [entry.write() for entry in entries()]
    CORPUS.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    print(f"Wrote {len(lines):,} schedules to {CORPUS}. See what has moved with git diff, and say why in the commit.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
