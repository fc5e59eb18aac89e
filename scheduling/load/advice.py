"""What would spread a schedule's jobs, and by how much: tried out on the very jobs, not guessed.

An `H` in the minute keeps the hour and the days, and costs nothing. Where it does not fit (an interval, minutes at odd
distances) the advice is jitter. What is due in every minute already is as even as minutes can be.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from scheduling.load.counting import Budget, Tally
from scheduling.load.groups import Group, Groups, Written, plain_cron
from scheduling.load.window import Window
from scheduling.recurrence import Cron
from scheduling.recurrence.expressions import NICKNAMES, read_fields
from scheduling.recurrence.spreading import resolve

WORTH_IT = 0.7  # of what it was: whoever changes a schedule wants to see a difference
LONGEST_JITTER = 900  # seconds: later than a quarter of an hour is noticed
STEPS_OF_A_NEW_RULE = 160  # to pick an `H` anew and find its first run takes as long as counting this number of starts
SHORTEST_JITTER = 120  # seconds: less leaves everything within a minute or two


@dataclass(frozen=True)
class Advice:
    """Jobs that start together, and the change to their schedule after which they would not."""

    written: Written
    jobs: int
    together: int  # starts in their worst minute
    change: dict[str, str | int]  # keys of the schedule
    then: int  # starts in their worst minute, so changed

    def __str__(self) -> str:
        [(key, value)] = self.change.items()
        # An H is picked once, and jitter anew for each due time: what it makes of later ones is much the same.
        remedy = f"`{value}` would make it at most" if key == "expression" else f"`{key}: {value}` would make it about"
        return f"{self.jobs:,} jobs with `{self.written}`, up to {self.together:,} in a minute: {remedy} {self.then:,}."


@dataclass(frozen=True)
class Spread:
    """A piece of advice, with the minutes as they would be."""

    advice: Advice
    per_minute: list[int]


def advise(written: Written, groups: Groups, per_minute: list[int], budget: Budget) -> Spread | None:
    """Return what would help these jobs, if anything would, and if the budget is enough to try it out."""
    change = change_for(written)
    if change is None:
        return None
    window, present = groups.window, groups.of(written)
    if "expression" in change:
        budget.spend(STEPS_OF_A_NEW_RULE * sum(len(group.jobs) for group in present))
    before = _count(present, window, budget)
    after = before and _count(_changed(present, change, window), window, budget)
    if not before or not after:
        return None
    together, then = max(before), max(after)
    if then > WORTH_IT * together:
        return None
    jobs = sum(len(group.jobs) for group in present)
    overall = [all_ - old + new for all_, old, new in zip(per_minute, before, after, strict=True)]
    return Spread(Advice(written, jobs, together, change, then), overall)


def change_for(written: Written) -> dict[str, str | int] | None:
    """Return the change that spreads what is written so, without moving it to another hour."""
    if written.jitter:
        return None
    match written.type:
        case "cron":
            expression = spread_out(written.text)
            if expression is not None:
                return {"expression": expression}
            return _jitter(_shortest_distance(written.text))
        case "interval":
            return _jitter(int(written.text))
    return None


def spread_out(expression: str) -> str | None:
    """Return the expression with an `H` for its minutes; None if that would change more than the minutes."""
    minute, *others = NICKNAMES.get(expression.lower(), expression).split()
    # What follows real time for its minute alone would name fixed times without the star.
    if "h" in expression.lower().split()[0] or (minute.startswith("*") and not others[0].startswith("*")):
        return None
    minutes = sorted(read_fields(resolve(" ".join([minute, *others]), None))[0].numbers)
    if len(minutes) == 1:
        return " ".join(["H", *others])
    step = minutes[1] - minutes[0]
    if step == 1 or 60 % step or minutes != list(range(minutes[0], 60, step)) or len(minutes) != 60 // step:
        return None
    return " ".join([f"H/{step}", *others])


def _jitter(seconds: int) -> dict[str, str | int] | None:
    jitter = min(seconds, LONGEST_JITTER)
    return {"jitter": jitter} if jitter >= SHORTEST_JITTER else None


def _shortest_distance(expression: str) -> int:
    """Seconds between two of its minutes, at least."""
    if "h" in expression.lower().split()[0]:
        return 0
    minutes = sorted(read_fields(resolve(expression, None))[0].numbers)
    around = [*minutes, minutes[0] + 60]
    return 60 * min(later - earlier for earlier, later in pairwise(around))


def _changed(groups: Iterable[Group], change: dict[str, str | int], window: Window) -> Groups:
    changed = Groups(window)
    for group in groups:
        match change:
            case {"jitter": int(jitter)}:
                written = replace(group.written, jitter=jitter)
                changed.put(replace(group, written=written, jobs=list(group.jobs)))
            case {"expression": str(expression)}:
                for one in _picked(group, expression, window):
                    changed.put(one)
    return changed


def _picked(group: Group, expression: str, window: Window) -> Iterable[Group]:
    """The same jobs with an expression that is picked for each."""
    cron = group.beat
    assert isinstance(cron, Cron)
    written = replace(group.written, text=expression)
    for job in group.jobs:
        own = plain_cron(resolve(expression, str(job)), cron.timezone, cron.on_gap, cron.on_repeat)
        due = own.next_after(window.now)
        if due is not None and due < window.end:
            yield replace(group, written=written, beat=own, due=due, jobs=[job])


def _count(groups: Iterable[Group], window: Window, budget: Budget) -> list[int] | None:
    """The starts in each minute; None if the budget is not enough for all of them."""
    tally = Tally(window, budget)
    for group in groups:
        if budget.is_spent:
            return None
        tally.add(group)
    return None if tally.left_out else tally.per_minute()
