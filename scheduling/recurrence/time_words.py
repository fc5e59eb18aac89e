"""Says in English at which times of the day a cron expression runs."""

from collections.abc import Collection

from scheduling.recurrence.english import counted, even_step, joined, listed, ordinal
from scheduling.recurrence.fields import Values

MOST_TIMES = 6  # of a day, written one by one; more are said by minute and hour
_MINUTES = 60  # in an hour


def times_in_words(minute: Values, hour: Values) -> str:
    """Return the times, such as "At 10:30" or "Every 15 minutes from 09:00 through 17:59"."""
    if not hour.is_all and len(minute.numbers) * len(hour.numbers) <= MOST_TIMES:
        times = [f"{one:02}:{other:02}" for one in sorted(hour.numbers) for other in sorted(minute.numbers)]
        return f"At {joined(times)}"
    if minute.is_all:
        return f"Every minute{_within(hour)}"
    if len(minute.numbers) == 1:
        return _once_an_hour(min(minute.numbers), hour)
    every = _round_the_clock(minute.numbers)
    if every is not None:
        step, first = every
        start = f", starting {counted(first, 'minute')} past," if first else ""
        return f"Every {step} minutes{start}{_within(hour)}".removesuffix(",")
    return f"At {_minutes(minute.numbers)} past {_each(hour)}"


def _once_an_hour(minute: int, hour: Values) -> str:
    if hour.is_all:
        return f"Every hour at minute {minute}" if minute else "Every hour, on the hour"
    first, last = min(hour.numbers), max(hour.numbers)
    step = 1 if len(hour.numbers) == last - first + 1 else even_step(hour.numbers)
    if step is None:
        return f"At minute {minute} past {_each(hour)}"
    return f"Every {'hour' if step == 1 else f'{step} hours'} from {first:02}:{minute:02} through {last:02}:{minute:02}"


def _round_the_clock(numbers: Collection[int]) -> tuple[int, int] | None:
    """Return step and first minute if the minutes go on at the same distance from one hour to the next."""
    step, left = divmod(_MINUTES, len(numbers))
    first = min(numbers)
    return (step, first) if not left and set(numbers) == set(range(first, _MINUTES, step)) else None


def _minutes(numbers: Collection[int]) -> str:
    if step := even_step(numbers):
        return f"every {ordinal(step)} minute from {min(numbers)} through {max(numbers)}"
    return f"minutes {joined(listed(numbers))}"


def _each(hour: Values) -> str:
    """Return the hours that minutes are past of."""
    if hour.is_all:
        return "every hour"
    if step := even_step(hour.numbers):
        return f"every {ordinal(step)} hour from {min(hour.numbers)} through {max(hour.numbers)}"
    return f"{'hour' if len(hour.numbers) == 1 else 'hours'} {joined(listed(hour.numbers))}"


def _within(hour: Values) -> str:
    """Return the hours that something goes on in."""
    if hour.is_all:
        return ""
    numbers = hour.numbers
    if len(numbers) == max(numbers) - min(numbers) + 1:
        return f" from {min(numbers):02}:00 through {max(numbers):02}:59"
    return f" in {_each(hour)}"
