"""Runs on a cron expression, in the wall time of a zone.

When clocks change, the rule is Debian cron's. A schedule whose minute or hour starts with `*`
follows real time: skipped local times do not run and the repeated hour runs twice. Any other names
fixed times, each of which runs once: right after the gap that skipped it, or the first of the two
times a clock shows it. A job may choose otherwise, for fixed times only: what follows real time has
nothing to choose, and is refused a choice rather than having it ignored.
"""

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.clock_changes import OnGap, OnRepeat, read_choice
from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.expressions import compile_expression, tidy
from scheduling.recurrence.instants import start_of_search
from scheduling.recurrence.spreading import resolve
from scheduling.recurrence.walking import next_fixed_time, next_in_real_time
from scheduling.recurrence.zone_names import zone_named

REMEMBERED = 4096  # answers, about a megabyte: more than a batch of new jobs can ask for


@dataclass(frozen=True)
class Cron(Recurrence):
    """Runs whenever the clocks of `timezone` show a time that `expression` matches.

    `seed` names the job for which each `H` is picked. It is not stored with the schedule: the job knows
    its own name. Without one the picks are those of no job, good enough to show what may come.
    """

    expression: str
    timezone: str = "UTC"
    seed: str | None = None
    on_gap: OnGap = OnGap.RUN_ONCE
    on_repeat: OnRepeat = OnRepeat.RUN_ONCE
    plain: str = field(init=False, compare=False, repr=False)  # the expression with every `H` picked

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", tidy(self.expression))
        object.__setattr__(self, "plain", resolve(self.expression, self.seed))
        if self.plain == self.expression:
            # Nothing was picked: jobs that share an expression then share what is worked out for it.
            object.__setattr__(self, "seed", None)
        compile_expression(self.plain)
        zone_named(self.timezone)
        object.__setattr__(self, "on_gap", read_choice("on_gap", self.on_gap, OnGap))
        object.__setattr__(self, "on_repeat", read_choice("on_repeat", self.on_repeat, OnRepeat))
        self._refuse_a_choice_without_effect("on_gap", chosen=self.on_gap != OnGap.RUN_ONCE)
        self._refuse_a_choice_without_effect("on_repeat", chosen=self.on_repeat != OnRepeat.RUN_ONCE)

    def next_after(self, instant: datetime) -> datetime | None:
        start = start_of_search(instant)
        return None if start is None else _next_run(self.plain, self.timezone, self.on_gap, self.on_repeat, start)

    def bare(self) -> "Cron":
        return self

    def to_dict(self) -> dict[str, str | int]:
        stored: dict[str, str | int] = {"type": "cron", "expression": self.expression, "timezone": self.timezone}
        # Only what was chosen: most schedules say nothing, and a default is not worth a key in each.
        if self.on_gap != OnGap.RUN_ONCE:
            stored["on_gap"] = self.on_gap.value
        if self.on_repeat != OnRepeat.RUN_ONCE:
            stored["on_repeat"] = self.on_repeat.value
        return stored

    def _refuse_a_choice_without_effect(self, key: str, *, chosen: bool) -> None:
        if chosen and compile_expression(self.plain).follows_real_time:
            raise InvalidSchedule(
                key,
                f"{quoted(self.expression)} follows real time, because its minute or hour starts with '*': "
                f"'{key}' is for fixed times. Leave it out, or write 0-59 or 0-23 for the star.",
            )


# A new job asks twice, whether it will run and when, and a batch of new jobs asks for the same few at one instant.
@lru_cache(maxsize=REMEMBERED)
def _next_run(expression: str, timezone: str, on_gap: OnGap, on_repeat: OnRepeat, after: datetime) -> datetime | None:
    compiled = compile_expression(expression)
    zone = zone_named(timezone)
    if compiled.follows_real_time:
        return next_in_real_time(compiled, zone, after)
    return next_fixed_time(compiled, zone, after, on_gap=on_gap, on_repeat=on_repeat)
