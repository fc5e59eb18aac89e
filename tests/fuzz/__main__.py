"""`make fuzz`: it parses, wires and prints."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.campaign import Campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=sys.modules["tests.fuzz"].__doc__)
    parser.add_argument("--cases", type=int, default=5000, help="at least so many (default: 5000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each further one adds 1")
    options = parser.parse_args()
    with Campaign.at_work() as campaign:
        while campaign.told.cases < options.cases and not campaign.told.failures:
            campaign.round(seed=options.seed + campaign.told.rounds)
            print(campaign.told.line(), flush=True)
    for failure in campaign.told.failures:
        print(failure)
    return int(bool(campaign.told.failures))


if __name__ == "__main__":
    sys.exit(main())
