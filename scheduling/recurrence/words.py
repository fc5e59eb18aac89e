"""Says in English what a schedule does, for people who are about to rely on it.

The words are made from what an expression was understood to mean, not from its text: whoever wrote
`0 9 1-31 * 5` reads that it runs every day, and can tell that this is not what they wanted.
"""

from datetime import datetime

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.bounds import Bounded
from scheduling.recurrence.clock_changes import OnGap, OnRepeat
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.day_words import days_in_words
from scheduling.recurrence.english import counted, joined
from scheduling.recurrence.every import Every
from scheduling.recurrence.expressions import read_fields
from scheduling.recurrence.jitter import Jittered
from scheduling.recurrence.once import Once
from scheduling.recurrence.time_words import times_in_words
from scheduling.recurrence.zone_names import place_named

DAY = 24 * 60 * 60  # seconds

_GAP_WORDS = {OnGap.RUN_ONCE: "", OnGap.SKIP: "Times that the clocks skip are left out."}
_REPEAT_WORDS = {
    OnRepeat.RUN_ONCE: "",
    OnRepeat.SKIP: "Times that the clocks show twice are left out.",
    OnRepeat.RUN_TWICE: "Times that the clocks show twice run both times.",
}


def describe(recurrence: Recurrence) -> str:
    """Return one or more English sentences that say when `recurrence` runs."""
    match recurrence:
        case Jittered(rule=rule, jitter=jitter):
            return f"{describe(rule)} Each run starts up to {_duration(jitter)} late, to spread the load."
        case Bounded(rule=rule):
            return f"{describe(rule)} {_bounds(recurrence)}"
        case Cron():
            return " ".join(sentence for sentence in _cron(recurrence) if sentence)
        case Every(seconds=seconds, anchor=anchor):
            # To the second: a job that is made now counts from a microsecond that means nothing to anybody.
            return f"Every {_interval(seconds)}, counted from {_moment(anchor.replace(microsecond=0))}."
        case Once(at=at):
            return f"Once, at {_moment(at)}."
        case _:
            raise TypeError(f"There are no words for a {type(recurrence).__name__}: add them here.")


def _cron(cron: Cron) -> list[str]:
    minute, hour, day, month, weekday = read_fields(cron.plain)
    times, days = times_in_words(minute, hour), days_in_words(day, month, weekday)
    if not days and ":" in times and times.startswith("At "):
        days = "every day"
    return [
        f"{' '.join(part for part in (times, days) if part)}, {place_named(cron.timezone)}.",
        _picked(cron),
        _GAP_WORDS[cron.on_gap],
        _REPEAT_WORDS[cron.on_repeat],
    ]


def _picked(cron: Cron) -> str:
    if cron.plain == cron.expression:
        return ""
    if cron.seed is None:
        return "H stands for values picked for each job; those shown are an example."
    return "H stands for values picked for this job."


def _bounds(bounds: Bounded) -> str:
    sentences = []
    if bounds.start_at is not None:
        sentences.append(f"Not before {_moment(bounds.start_at)}.")
    if bounds.end_at is not None:
        sentences.append(f"Not after {_moment(bounds.end_at)}.")
    if bounds.max_runs is not None:
        sentences.append(f"{counted(bounds.max_runs, 'run')} at most.")
    return " ".join(sentences)


def _interval(seconds: int) -> str:
    single = {1: "second", 60: "minute", 3600: "hour"}
    return single.get(seconds) or _duration(seconds)


def _duration(seconds: int) -> str:
    # An interval knows no calendar: "every day" would promise the same time each day.
    days = seconds // DAY if seconds >= 2 * DAY else 0
    hours, rest = divmod(seconds - days * DAY, 3600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "day"), (hours, "hour"), (minutes, "minute"), (left, "second")]
    return joined([counted(number, unit) for number, unit in parts if number])


def _moment(instant: datetime) -> str:
    return f"{instant.replace(tzinfo=None).isoformat(sep=' ')} UTC"
