"""Asks the oracle about every clock change of every zone, and says whether anything differed."""

import argparse
import sys
import time
from datetime import timedelta
from zoneinfo import ZoneInfo

from tests.oracle.changes import all_zones, changes
from tests.oracle.comparing import cronsim_can_tell, cronsim_mismatches, mismatches
from tests.oracle.daemon import Window
from tests.oracle.questions import Question, questions

MARGIN = timedelta(hours=4)  # around a change; no clock has been put back further than three hours since 2000
ENOUGH = 100_000  # due times, without which a whole run has not done its work
LINES_OF_MISMATCHES = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--zones", nargs="*", default=None, help="only these zones")
    parser.add_argument("--each", type=int, default=2, help="questions for each clock change")
    options = parser.parse_args()

    zones = options.zones or all_zones()
    started = told = time.monotonic()
    number = due_times = second_opinions = beyond_cronsim = 0
    wrong: list[str] = []
    for place, name in enumerate(zones, start=1):
        zone = ZoneInfo(name)
        for change in changes(zone):
            window = Window.of(zone, change - MARGIN, change + MARGIN)
            for question in questions(name, change, seed=number, count=options.each):
                compared, differences = mismatches(question, window, starts=1, seed=number)
                due_times += compared
                wrong += differences
            if cronsim_can_tell(zone, change):
                asked = next(questions(name, change, seed=number + 1_000_000, count=1))
                compared, differences = cronsim_mismatches(Question(asked.expression, name), window)
                second_opinions += compared
                wrong += differences
            else:
                beyond_cronsim += 1
            number += 1
        if time.monotonic() - told > 5 or place == len(zones):
            told = time.monotonic()
            print(
                f"{place} of {len(zones)} zones, {number:,} clock changes, {due_times:,} due times, "
                f"{len(wrong)} mismatches",
                flush=True,
            )
    for line in wrong[:LINES_OF_MISMATCHES]:
        print(line)
    too_few = options.zones is None and due_times < ENOUGH
    print(
        f"{'FAILED' if wrong or too_few else 'OK'}: {len(zones)} zones, {number:,} clock changes, "
        f"{due_times:,} due times, {len(wrong)} mismatches; {second_opinions:,} second opinions of cronsim, "
        f"not asked at {beyond_cronsim} changes that it is known to get wrong"
        f"{f', fewer than {ENOUGH:,} due times' if too_few else ''}, {time.monotonic() - started:.0f} s."
    )
    return 1 if wrong or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
