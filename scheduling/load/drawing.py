"""Draws a report for a terminal: a bar for each hour, or a line of small ones for each day, and the worst minutes."""

from collections.abc import Iterator
from itertools import islice

from scheduling.load.report import Hour, Report, WorstMinute

WIDTH = 40  # characters of the longest bar
MOST_BARS = 48  # hours: more are drawn as one line a day
EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS = "▁▂▃▄▅▆▇█"
LONGEST_NAME = 30
ALIKE_NAMED = 3


def drawn(report: Report, *, plain: bool = False) -> Iterator[str]:
    """The lines of a report; `plain` for terminals that know no more than ASCII."""
    yield f"{report.start:%a %Y-%m-%d %H:%M} to {report.end:%a %Y-%m-%d %H:%M} UTC"
    yield (
        f"{report.jobs:,} jobs, {report.executions:,} executions. "
        f"A typical minute starts {report.typical:,}, the busiest {report.busiest:,}."
    )
    if report.executions:
        yield ""
        yield from _days(report.hours, plain) if len(report.hours) > MOST_BARS else _bars(report.hours, plain)
        yield ""
        yield "The worst minutes"
        for minute in report.worst:
            yield from _minute(minute)
        yield ""
        yield from _advice(report)
    if report.estimated:
        yield f"{report.estimated:,} jobs are spread evenly here: to place each of their runs would take too long."
    if report.left_out:
        yield f"{report.left_out:,} jobs are left out: there are more than a report counts, or they cannot be read."


def _bars(hours: list[Hour], plain: bool) -> Iterator[str]:
    most = max(hour.executions for hour in hours)
    for hour in hours:
        bar = _bar(hour.executions / most, plain)
        yield f"{hour.at:%a %H:%M} {bar} {hour.executions:>11,}   at most {hour.busiest:,} a minute"


def _bar(share: float, plain: bool) -> str:
    if plain:
        return ("#" * round(share * WIDTH)).ljust(WIDTH)
    whole, part = divmod(round(share * WIDTH * 8), 8)
    return ("█" * whole + EIGHTHS[part].strip()).ljust(WIDTH)


def _days(hours: list[Hour], plain: bool) -> Iterator[str]:
    most = max(hour.executions for hour in hours)
    left = iter(hours)
    while day := list(islice(left, 24)):
        total, busiest = sum(hour.executions for hour in day), max(hour.busiest for hour in day)
        line = "".join(_height(hour.executions / most, plain) for hour in day)
        yield f"{day[0].at:%a %m-%d %H:%M} {line:24} {total:>11,}   at most {busiest:,} a minute"


def _height(share: float, plain: bool) -> str:
    heights = ".:-=+*#@" if plain else HEIGHTS
    return heights[min(len(heights) - 1, int(share * len(heights)))]


def _minute(minute: WorstMinute) -> Iterator[str]:
    named = ", ".join(f"{at:%a %H:%M}" for at in minute.alike[:ALIKE_NAMED])
    more = f" and {len(minute.alike) - ALIKE_NAMED} more" if len(minute.alike) > ALIKE_NAMED else ""
    yield f"  {minute.at:%a %H:%M} {minute.executions:>8,}{f'   like it: {named}{more}' if named else ''}"
    for part in minute.parts:
        jobs = ", ".join((job.name or str(job.id))[:LONGEST_NAME] for job in part.examples)
        yield f"            {part.executions:>8,}   {part.written}   ({jobs}{', …' if part.executions > 3 else ''})"
    if minute.others:
        yield f"            {minute.others:>8,}   others"


def _advice(report: Report) -> Iterator[str]:
    if not report.advice:
        yield "Nothing to advise: no schedule starts many jobs together that an H or a jitter would spread."
        return
    yield "What would help"
    for advice in report.advice:
        yield f"  {advice}"
    yield f"  With all of it the busiest minute would start {report.busiest_then:,} instead of {report.busiest:,}."
