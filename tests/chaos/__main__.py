"""`python -m tests.chaos`: parses, runs, tells. The exit code is 0 only if nothing at all was found wrong."""

from __future__ import annotations

import argparse
import shutil
import sys

from tests.chaos import campaign, report
from tests.chaos.campaign import say


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="of faults, over all modes")
    parser.add_argument("--seed", type=int, default=1, help="decides which faults happen when")
    parser.add_argument("--mode", choices=("full", "database", "both"), default="full")
    parser.add_argument("--rate", type=float, default=120, help="executions a second to aim at")
    parser.add_argument("--variant", default="", help="switch on one deliberate defect")
    parser.add_argument("--variants", action="store_true", help="show that each deliberate defect is caught")
    parser.add_argument("--only", default="", help="with --variants: only these, comma-separated")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a clean run too")
    options = parser.parse_args()
    if options.variants:
        from tests.chaos import scenarios

        return scenarios.show_all([name for name in options.only.split(",") if name])
    modes = ("full", "database") if options.mode == "both" else (options.mode,)
    clean = True
    lines = []
    for mode in modes:
        outcome = campaign.run(
            mode,
            seed=options.seed,
            seconds=options.seconds / len(modes),
            rate=options.rate,
            variant=options.variant,
        )
        for line in [
            *report.figures(outcome.history),
            *report.findings(outcome.history, outcome.verdict, outcome.folder),
        ]:
            say(line)
        if outcome.verdict.clean and not options.keep:
            shutil.rmtree(outcome.folder, ignore_errors=True)
        clean = clean and outcome.verdict.clean
        lines.append((outcome.history, outcome.verdict))
    say(report.total(options.seed, lines))
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
