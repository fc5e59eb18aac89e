"""`make attack`: it parses, wires and prints."""

from __future__ import annotations

import argparse
import sys

from tests.attacks import campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=sys.modules["tests.attacks"].__doc__)
    parser.add_argument("--only", default="", help="the attacks whose names contain this")
    parser.add_argument("--seconds", type=float, default=15, help="of each attack (default: 15)")
    options = parser.parse_args()
    failed = False
    print(campaign.HEADING, flush=True)
    for outcome in campaign.run(only=options.only, seconds=options.seconds):
        print(outcome.line(), flush=True)
        failed |= not outcome.bearable
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
