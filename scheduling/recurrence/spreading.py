"""Replaces each `H` in a cron expression by values picked for one job.

`H` lets a thousand jobs say "once a day, I do not mind when" and be spread over the day. What is
picked depends on the job's seed and the field, so it stays the same for as long as the job lives. What
leaves this module is a plain expression: nothing behind it knows about `H`.
"""

import re

from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.fields import DAY_OF_MONTH, FIELDS, Field
from scheduling.recurrence.picks import pick

# For a schedule that has no job yet. Any constant would do, but not a changing one: a preview that is
# asked for twice should not contradict itself.
SEED_OF_NO_JOB = ""

LAST_DAY_OF_EVERY_MONTH = 28  # a day picked later would leave out some months, or all of them

_H = re.compile(r"h(\((?P<first>[0-9a-z]{1,3})-(?P<last>[0-9a-z]{1,3})\))?(/(?P<step>[0-9]+))?", re.IGNORECASE)


def resolve(expression: str, seed: str | None) -> str:
    """Return the expression with plain values in place of each `H`; the expression itself if it has none."""
    texts = expression.split()
    # What is no list of five fields is refused, with the reason, by whoever compiles it.
    if len(texts) != len(FIELDS):
        return expression
    seed = SEED_OF_NO_JOB if seed is None else seed
    return " ".join(_resolve_field(field, text, seed) for field, text in zip(FIELDS, texts, strict=True))


def _resolve_field(field: Field, text: str, seed: str) -> str:
    # By items, so that a list may hold several. They share one pick: H(0-29),H(30-59) is half an hour apart.
    items = text.split(",")
    return ",".join(_resolve_item(field, item, seed) if item[:1] in ("h", "H") else item for item in items)


def _resolve_item(field: Field, item: str, seed: str) -> str:
    parts = _H.fullmatch(item)
    if parts is None:
        raise _not_allowed(field, item)
    last_pickable = _last_pickable(field)
    if parts["first"]:
        choices = list(field.range_of(f"{parts['first']}-{parts['last']}"))
        if field is DAY_OF_MONTH and choices[-1] > last_pickable:
            raise _not_allowed(field, item)
    else:
        choices = list(range(field.lowest, last_pickable + 1))
    if not parts["step"]:
        return str(choices[pick(len(choices), "H", field.name, seed)])
    step = int(parts["step"])
    # A longer step might pick a start behind the end of the range, and so no value at all.
    if not 1 <= step <= len(choices):
        raise InvalidSchedule(
            "expression",
            f"{quoted(item)} in the {field.name} field has a step of {quoted(step)}: "
            f"allowed are steps of 1-{len(choices)}.",
        )
    first = choices[pick(step, "H", field.name, seed)]
    return f"{first}-{choices[-1]}/{step}"


def _last_pickable(field: Field) -> int:
    return LAST_DAY_OF_EVERY_MONTH if field is DAY_OF_MONTH else field.highest


def _not_allowed(field: Field, item: str) -> InvalidSchedule:
    low, high = field.lowest, _last_pickable(field)
    reason = ", the days that every month has" if field is DAY_OF_MONTH else ""
    return InvalidSchedule(
        "expression",
        f"{quoted(item)} in the {field.name} field is no way to have a value picked: allowed are H, H/2, "
        f"H({low}-{high}) and H({low}-{high})/2, with values of {low}-{high}{reason}.",
    )
