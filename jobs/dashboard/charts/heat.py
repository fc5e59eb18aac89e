"""The coming day's load as a field of small squares: an hour a column, five minutes a square."""

from __future__ import annotations

from collections import defaultdict
from statistics import median_low

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from jobs.dashboard.charts.frame import moment, tooltip
from scheduling.load import Report
from scheduling.load.report import Hour

ROWS = 12  # squares an hour
MINUTES = 60 // ROWS  # a square
LEVELS = 5  # shades, besides that of nothing
SIZE, STEP = 18, 20  # units of a square, and from one to the next
EVERY = 3  # hours from label to label


def chart(report: Report) -> SafeString:
    squares = [sum(report.minutes[at : at + MINUTES]) for at in range(0, len(report.minutes), MINUTES)]
    usual, most = median_low(squares), max(squares)
    paths: dict[int, list[str]] = defaultdict(list)
    for number, runs in enumerate(squares):
        column, row = divmod(number, ROWS)
        paths[_level(runs, usual, most)].append(f"M{column * STEP + 1} {row * STEP + 1}h{SIZE}v{SIZE}h-{SIZE}z")
    parts = [f'<path class="heat{level}" d="{"".join(path)}"/>' for level, path in sorted(paths.items())]
    parts += [
        f'<rect class="hit" x="{place * STEP}" y="0" width="{STEP}" height="{ROWS * STEP}">'
        f"{tooltip(hour.at, 'minute', _counts(hour))}</rect>"
        for place, hour in enumerate(report.hours)
    ]
    says = (
        f"Load of the coming {len(report.hours)} hours: {report.executions:,} executions of {report.jobs:,} jobs; "
        f"the busiest minute starts {report.busiest:,}."
    )
    times = "".join(moment(hour.at, "minute") for hour in report.hours[::EVERY])
    return mark_safe(
        f'<svg class="heat" role="img" aria-label="{escape(says)}" preserveAspectRatio="none" '
        f'viewBox="0 0 {len(report.hours) * STEP} {ROWS * STEP}">{"".join(parts)}</svg>'
        f'<div class="hours" aria-hidden="true">{times}</div>'
    )


def _counts(hour: Hour) -> str:
    return f"{hour.executions:,} executions, at most {hour.busiest:,} a minute"


def _level(runs: int, usual: int, most: int) -> int:
    """By how far it is above the usual, and by the root of that.

    What runs every few seconds all day must not hide the peaks, nor a night job of thousands the small ones.
    """
    if not runs:
        return 0
    return 1 + round((LEVELS - 1) * ((runs - usual) / (most - usual)) ** 0.5) if runs > usual else 1
