"""Thinks up the schedules of the corpus: all zones, every form of expression, many just before a clock change."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from scheduling.recurrence import Cron, OnGap, OnRepeat
from scheduling.recurrence.expressions import compile_expression
from scheduling.recurrence.zone_names import REGIONS
from tests.golden.entries import RUNS, Entry
from tests.oracle.changes import all_zones, changes

SEED = 2027
ENTRIES = 5200
EXPRESSIONS = 700  # each for several zones: compiling one costs more than asking it
FROM, UNTIL = datetime(2001, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)

WELL_KNOWN = [
    "* * * * *", "*/5 * * * *", "*/7 * * * *", "*/20 * * * *", "0 * * * *", "@hourly", "@daily", "@weekly", "@monthly",
    "@yearly", "30 2 * * *", "0 2 * * *", "30 1 * * *", "0,30 1-3 * * *", "*/30 2 * * *", "0 0 * * *", "59 23 * * *",
    "0 9 * * 1-5", "0 9-17 * * mon-fri", "0 9-9 * * *", "0 0 L * *", "0 0 1,15,L * *", "0 12 * * 5#2", "0 12 * * friL",
    "0 0 13 * 5", "0 0 */2 * 5", "0 0 13 * */5", "0 0 1-31 * 5", "0 0 31 * *", "30 2 * 3,10 0", "15 1-3/2 * * sun",
    "H * * * *", "H H * * *", "H/15 * * * *", "H H(1-5) * * *", "H(0-29)/10 2 * * *", "H H H * *", "H H * * H",
]  # fmt: skip


def entries() -> Iterator[Entry]:
    """Return the corpus as it is answered now."""
    picker = random.Random(SEED)
    expressions = WELL_KNOWN + [_expression(picker) for _ in range(EXPRESSIONS - len(WELL_KNOWN))]
    zones = ["UTC", *(name for name in all_zones() if name.partition("/")[0] in REGIONS)]
    moments = {name: changes(ZoneInfo(name), FROM, UNTIL) for name in zones}
    made = 0
    while made < ENTRIES:
        expression, zone = expressions[made % len(expressions)], zones[made % len(zones)]
        entry = _entry(picker, expression, zone, moments[zone])
        if entry is None:
            expressions[made % len(expressions)] = _expression(picker)  # its runs reach into the future
            continue
        made += 1
        yield entry


def _entry(picker: random.Random, expression: str, zone: str, moments: list[datetime]) -> Entry | None:
    seed = f"job {picker.randrange(1000)}" if "H" in expression else None
    on_gap, on_repeat = OnGap.RUN_ONCE, OnRepeat.RUN_ONCE
    if not compile_expression(Cron(expression, zone, seed).plain).follows_real_time and picker.random() < 0.5:
        on_gap, on_repeat = picker.choice(list(OnGap)), picker.choice(list(OnRepeat))
    cron = Cron(expression, zone, seed, on_gap, on_repeat)
    start = _start(picker, moments)
    runs: list[datetime] = []
    run = cron.next_after(start)
    while run is not None and run < UNTIL and len(runs) < RUNS:
        runs.append(run)
        run = cron.next_after(run)
    if len(runs) < RUNS:
        return None
    return Entry(cron.expression, zone, seed, on_gap.value, on_repeat.value, start, tuple(runs))


def _start(picker: random.Random, moments: list[datetime]) -> datetime:
    early = [moment for moment in moments if moment < datetime(2020, 1, 1, tzinfo=UTC)]
    if early and picker.random() < 0.7:
        return (picker.choice(early) - timedelta(minutes=picker.randrange(3 * 1440))).replace(second=0)
    return FROM + timedelta(minutes=picker.randrange(5 * 366 * 1440))


def _expression(picker: random.Random) -> str:
    minute = _field(picker, 0, 59)
    hour = _field(picker, 0, 23)
    day = picker.choice(["*", "*", "*", "L", "*/2", _field(picker, 1, 28)])
    month = picker.choice(["*", "*", "*", "3,4,10,11", "mar-apr", _field(picker, 1, 12)])
    weekday = picker.choice(["*", "*", "*", "sun", "1-5", "6,7", "0#2", "0L", _field(picker, 0, 6)])
    return f"{minute} {hour} {day} {month} {weekday}"


def _field(picker: random.Random, low: int, high: int) -> str:
    first, last = sorted(picker.sample(range(low, high + 1), 2))
    step = picker.randint(1, (high - low + 1) // 2)
    forms = ["*", f"*/{step}", f"{first}", f"{last}", f"{first},{last}", f"{first}-{last}", f"{first}-{last}/{step}"]
    return picker.choice(forms)
