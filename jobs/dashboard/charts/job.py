"""A job's last runs as a strip of ticks, and its year as a calendar."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from math import log10

from django.utils.safestring import SafeString, mark_safe

from jobs.dashboard.charts.frame import tooltip
from jobs.dashboard.charts.scale import seconds_told
from jobs.models import Execution
from jobs.states import FINAL, Status
from jobs.stats.job import STRIP, YEAR, Calendar, outcome_of

TICK, STEP, HEIGHT = 8, 10, 40
LEAST = 10  # units: the quickest is still seen
SQUARE, PITCH, LEFT, TOP = 11, 13, 28, 14
WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "")
COLOURS = {Status.COMPLETED: "completed", Status.FAILED: "failed"}


def strip(runs: Sequence[Execution]) -> SafeString:
    """A tick a run, the latest on the right; the higher, the longer it took."""
    lengths = [_seconds(run) for run in runs]
    most = max((length for length in lengths if length), default=0.001)
    parts = []
    for place, (run, length) in enumerate(zip(runs, lengths, strict=True), start=STRIP - len(runs)):
        colour = COLOURS.get(run.status, "skipped" if run.status in FINAL else "unfinished")
        # A tenth of the time is half of the height: what takes a millisecond and what takes a minute share the strip.
        height = LEAST if not length else max(LEAST, HEIGHT * (1 + log10(length / most) / 4))
        told = run.status.lower()
        told += f" in {seconds_told(length)}" if length else ""
        told += f", {run.explanation}" if run.explanation else ""
        parts.append(
            f'<a href="/executions/{run.pk}">{tooltip(run.due_at, "full", told[:300])}<rect class="{colour}" '
            f'x="{place * STEP}" y="{HEIGHT - height:.3g}" width="{TICK}" height="{height:.3g}" rx="1.5"/></a>'
        )
    return mark_safe(
        f'<svg class="strip" viewBox="0 0 {STRIP * STEP} {HEIGHT}" preserveAspectRatio="none">{"".join(parts)}</svg>'
    )


def calendar(year: Calendar, today: date) -> SafeString:
    """A square a day, a column a week, from Monday down."""
    first = today - YEAR
    first -= timedelta(days=first.weekday())
    parts = [f'<text x="0" y="{TOP + row * PITCH + 9}">{name}</text>' for row, name in enumerate(WEEKDAYS) if name]
    days = (today - first).days + 1
    for number in range(days):
        day = first + timedelta(days=number)
        column, row = divmod(number, 7)
        x, y = LEFT + column * PITCH, TOP + row * PITCH
        if day.day == 1 and column < days // 7:
            parts.append(f'<text x="{x}" y="9">{day:%b}</text>')
        counts = year.days.get(day)
        colour = outcome_of(counts) if counts else "none"
        told = ", ".join(f"{count:,} {status.lower()}" for status, count in counts.items()) if counts else ""
        title = f"<title>{day:%a %d %b %Y}: {told}</title>" if told else ""
        parts.append(f'<rect class="{colour}" x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}" rx="2">{title}</rect>')
    width = LEFT + ((days - 1) // 7 + 1) * PITCH
    bad = sum(1 for counts in year.days.values() if counts[Status.FAILED])
    says = f"A year of days: executions on {len(year.days)} of them, failures on {bad}."
    return mark_safe(
        f'<svg class="calendar" role="img" aria-label="{says}" viewBox="0 0 {width} {TOP + 7 * PITCH}">'
        f"{''.join(parts)}</svg>"
    )


def _seconds(run: Execution) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return max(0.0, (run.finished_at - run.started_at).total_seconds())
