"""What becomes of due times that were missed: which run late, which are skipped, and why. Pure.

A due time is missed when a job is found later than the grace after its start: no poller ran, or all of them were
behind. Each missed one gets exactly one outcome. However long it took and however often the job is due, the work is
bounded: so many due times are listed one by one, and the last of them speaks for the rest, whose end is found by
halving and not by counting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from jobs.policies import Allowances, Misfire
from scheduling.upcoming import Upcoming


class Following(Protocol):
    """A job's next run after an instant, when its schedule has made so many."""

    def __call__(self, after: datetime, *, runs: int) -> Upcoming: ...


class Policy(NamedTuple):
    """What a job says about what it missed; None is for the settings to say."""

    misfire: Misfire
    window: timedelta | None = None
    most: int | None = None


class Skipped(NamedTuple):
    due_at: datetime
    reason: str
    covers_until: datetime | None = None  # the reason holds for every due time up to this one too


class Outcomes(NamedTuple):
    """Every due time from the first missed one to `until` is in exactly one of the two lists, or covered."""

    runs: list[Upcoming]  # in order
    skipped: list[Skipped]  # in order
    until: datetime


@dataclass(frozen=True, slots=True)
class Counted:
    """How many due times there were, as far as anybody counted."""

    count: int
    first: datetime | None
    last: datetime | None
    more: bool  # than `count`


def decide_missed(
    first: Upcoming, following: Following, *, runs: int, now: datetime, policy: Policy, allowances: Allowances
) -> Outcomes:
    """Say what becomes of `first`, found late at `now`, and of the due times after it whose start has come by then.

    `runs` is how many the schedule has made before.
    """
    oldest, most, too_old, too_many = _terms(policy, allowances, first, now)
    ran: list[Upcoming] = []
    skipped: list[Skipped] = []
    until = first.due_at

    def after(instant: datetime) -> Upcoming:
        return following(instant, runs=runs + len(ran))

    def missed(one: Upcoming) -> bool:
        return one.start_at is not None and one.start_at <= now

    def stale(one: Upcoming) -> bool:
        return missed(one) and oldest is not None and one.due_at < oldest

    one = first
    if stale(one):
        # One row is left for what is beyond the maximum.
        skipped, until = _skip(one, stale, after, oldest or now, too_old, max(1, allowances.rows - 1))
        one = after(until)
    while missed(one) and len(ran) < most:
        ran.append(one)
        until = one.due_at
        one = after(until)
    if missed(one):
        rest, until = _skip(one, missed, after, now, too_many, max(1, allowances.rows - len(skipped)))
        skipped += rest
    return Outcomes(ran, skipped, until)


def count_missed(first: Upcoming, following: Following, *, runs: int, now: datetime, most: int) -> Counted:
    """Count the due times from `first` to `now`, up to `most`, if none of them ran."""

    def missed(one: Upcoming) -> bool:
        return one.start_at is not None and one.start_at <= now

    def after(instant: datetime) -> Upcoming:
        return following(instant, runs=runs)

    if not missed(first):
        return Counted(0, None, None, False)
    listed, rest = _walk(first, missed, after, now, most)
    return Counted(len(listed), listed[0], rest or listed[-1], rest is not None)


def _terms(
    policy: Policy, allowances: Allowances, first: Upcoming, now: datetime
) -> tuple[datetime | None, int, str, str]:
    """What runs: nothing older than a time, and no more than so many; and what is said of all others."""
    found = f"Missed: nobody looked until {told(now)}"
    match policy.misfire:
        case Misfire.SKIP:
            return None, 0, "", f"{found}, and what was missed is skipped (misfire: skip)."
        case Misfire.RUN_ONCE:
            return None, 1, "", f"{found}. One run, due {told(first.due_at)}, stands for all (misfire: run_once)."
    window = allowances.window if policy.window is None else policy.window
    most = allowances.most if policy.most is None else policy.most
    too_old = f"{found}, longer ago than is caught up on: {window} (misfire: catch_up)."
    return now - window, most, too_old, f"{found}, and no more than {most} are caught up on (misfire: catch_up)."


def told(instant: datetime) -> str:
    """An instant in UTC, for a reason that people read."""
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"


_Belongs = Callable[[Upcoming], bool]
_After = Callable[[datetime], Upcoming]


def _skip(
    first: Upcoming, belongs: _Belongs, after: _After, end: datetime, reason: str, rows: int
) -> tuple[list[Skipped], datetime]:
    """Skip `first` and those after it that belong; return them, and the last due time that is skipped with them."""
    listed, rest = _walk(first, belongs, after, end, rows)
    skipped = [Skipped(due_at, reason) for due_at in listed]
    if rest is not None:
        skipped[-1] = skipped[-1]._replace(covers_until=rest)
    return skipped, rest or listed[-1]


def _walk(
    first: Upcoming, belongs: _Belongs, after: _After, end: datetime, most: int
) -> tuple[list[datetime], datetime | None]:
    """The due times from `first` on that belong, up to `most`; and the last one that does, if there are more."""
    listed: list[datetime] = []
    one = first
    while belongs(one) and len(listed) < most:
        listed.append(one.due_at)
        one = after(one.due_at)
    return listed, _last(one.due_at, belongs, after, end) if belongs(one) else None


def _last(known: datetime, belongs: _Belongs, after: _After, end: datetime) -> datetime:
    """The last due time that belongs. `known` does, and nothing after `end` does."""
    while belongs(one := after(known)):
        known = one.due_at
        middle = known + (end - known) / 2
        if belongs(one := after(middle)):
            known = one.due_at
        else:
            end = middle
    return known
