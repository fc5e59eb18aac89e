"""The picture of a year: how far the clocks of two zones are ahead of UTC, and what that does to a job at night."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from scheduling.recurrence import Cron, preview
from scheduling.recurrence.zones import first_change, offset_at, wall_time

START, END = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
JOBS = [Cron("30 2 * * *", "Europe/Paris"), Cron("45 1 * * *", "Australia/Lord_Howe")]

WIDTH, PANEL, LEFT, RIGHT, TOP = 960, 190, 70, 20, 40
HIGH, LOW = 70, 120  # where a panel's line runs: with the later and the earlier offset
INK, LINE, MARK, FAINT = "#1f2933", "#2b6cb0", "#c05621", "#cbd2d9"


def picture() -> str:
    """Return the picture as SVG."""
    height = TOP + PANEL * len(JOBS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="13" fill="{INK}" role="img" aria-label="Clock changes of {START.year} in two time zones">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for month in range(1, 13):
        x = _x(START.replace(month=month))
        parts.append(f'<line x1="{x}" y1="{TOP - 12}" x2="{x}" y2="{height - 10}" stroke="{FAINT}"/>')
        parts.append(f'<text x="{x + 4}" y="{TOP - 16}">{START.replace(month=month):%b}</text>')
    for number, job in enumerate(JOBS):
        parts += _panel(job, TOP + number * PANEL)
    return "\n".join([*parts, "</svg>", ""])


def _panel(job: Cron, top: int) -> list[str]:
    zone = ZoneInfo(job.timezone)
    changes = _changes(zone)
    offsets = [offset_at(moment, zone) for moment in (START, *changes)]
    latest = max(offsets)
    levels = [top + (HIGH if offset == latest else LOW) for offset in offsets]
    edges = [_x(moment) for moment in (START, *changes, END)]
    points = " ".join(f"{edges[place + side]},{level}" for place, level in enumerate(levels) for side in (0, 1))
    parts = [
        f'<text x="8" y="{top + 20}" font-size="15" font-weight="bold">{job.timezone}, job at '
        f"{job.expression.split()[1].zfill(2)}:{job.expression.split()[0]}</text>",
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="3"/>',
    ]
    for offset in sorted(set(offsets)):
        level = top + (HIGH if offset == latest else LOW)
        parts.append(f'<text x="8" y="{level + 5}">{_offset(offset)}</text>')
    for change, level in zip(changes, levels[1:], strict=True):
        # Labels stay clear of the line: above it where it is high, below where it is low.
        label = level - 46 if level == top + HIGH else level + 22
        parts += _mark(job, change, level, label)
    return parts


def _mark(job: Cron, change: datetime, level: int, label: int) -> list[str]:
    zone = ZoneInfo(job.timezone)
    day = wall_time(change, zone)
    runs = preview(job, after=change - timedelta(days=2), count=3)
    note = next(run.note for run in runs if run.local.date() == day.date())
    what, _, effect = note.partition(" on this day: ")
    x = _x(change)
    anchor = "start" if x < WIDTH / 2 else "end"
    at = x + 8 if anchor == "start" else x - 8
    lines = [f"{day.day} {day:%B}", f"{what},", effect]
    texts = [
        f'<text x="{at}" y="{label + 15 * place}" font-size="12" text-anchor="{anchor}">{line}</text>'
        for place, line in enumerate(lines)
    ]
    return [f'<circle cx="{x}" cy="{level}" r="5" fill="{MARK}"/>', *texts]


def _changes(zone: ZoneInfo) -> list[datetime]:
    found = []
    change = first_change(START, END, zone)
    while change is not None:
        found.append(change)
        change = first_change(change, END, zone)
    return found


def _x(moment: datetime) -> int:
    return LEFT + round((moment - START) / (END - START) * (WIDTH - LEFT - RIGHT))


def _offset(offset: timedelta) -> str:
    minutes = offset // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
