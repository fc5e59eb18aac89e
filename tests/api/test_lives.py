"""Whatever happens to a job, each of its due times is told once, with what became of it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs.models import Execution
from jobs.occurrences import list_occurrences
from jobs.states import Cause, JobStatus, Status
from tests.lives import SECOND, Life

pytestmark = pytest.mark.django_db

RARELY, OFTEN = 70, 20  # seconds: both are due together now and then

steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 200)),
        st.tuples(st.sampled_from(["poll", "poll", "pause", "resume", "rename", "run_now"]), st.none()),
        st.tuples(st.just("edit"), st.tuples(st.sampled_from([RARELY, OFTEN]), st.sampled_from([None, 2, 5]))),
    ),
    max_size=25,
)


class Witness:
    """Lives through it and writes down what is to be, in its own way: second by second, as it happens."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.start = life.now
        self.expected: dict[datetime, str] = {}
        self.asked_for: list[datetime] = []
        self._edit(OFTEN, None)

    def _edit(self, seconds: int, max_runs: int | None) -> None:
        schedule = {"type": "interval", "seconds": seconds, "start_at": self.start.isoformat()}
        schedule |= {"max_runs": max_runs} if max_runs else {}
        self.seconds, self.since = seconds, self.life.now
        if self.life.job.task:
            self.life.change(schedule=schedule)
        else:
            self.life.create(schedule)

    def see(self, step: str, detail) -> None:
        life, status = self.life, self.life.row.status
        match step:
            case "wait":
                for _ in range(detail):
                    life.after(seconds=1)
                    if (life.now - self.start) % timedelta(seconds=self.seconds) == timedelta():
                        self._due(status)
            case "poll":
                life.poll()
                if life.row.status == JobStatus.FINISHED != status:
                    last = max(self._recorded())
                    self.expected = {at: why for at, why in self.expected.items() if at <= max(last, self.since)}
            case "pause" if status == JobStatus.ACTIVE:
                life.pause()
                self.since = life.now
            case "resume" if status == JobStatus.PAUSED:
                life.resume()
                self.since = life.now
            case "rename":
                life.change(name="another")
            case "run_now":
                life.run_now()
                self.asked_for.append(life.now)
            case "edit":
                self._edit(*detail)

    def _due(self, status: str) -> None:
        if status != JobStatus.FINISHED:
            self.expected[self.life.now] = "paused" if status == JobStatus.PAUSED else "system_down"

    def _recorded(self) -> dict[datetime, str]:
        rows = Execution.objects.filter(job=self.life.job, cause=Cause.SCHEDULE)
        return dict(rows.values_list("due_at", "status"))

    def tell(self) -> list[tuple[datetime, str, str]]:
        recorded, row = self._recorded(), self.life.row
        left = row.schedule.get("max_runs", 10**9) - row.runs
        told = []
        for due in sorted({*self.expected, *recorded}):
            if due in recorded:
                told.append((due, "schedule", "skipped" if recorded[due] == Status.SKIPPED else "waiting"))
            elif row.next_run_at is not None and due >= row.next_run_at:
                if left > 0:
                    told.append((due, "schedule", "due"))
                left -= 1
            else:
                told.append((due, "schedule", self.expected[due]))
        return sorted([*told, *((due, "run_now", "waiting") for due in set(self.asked_for))])


def told_by_pages(life: Life, start: datetime, limit: int) -> list[tuple[datetime, str, str]]:
    told, position = [], start
    while position is not None:
        page = list_occurrences(life.row, start=position, end=life.now + SECOND, now=life.now, limit=limit)
        told += page.occurrences
        position = page.following
    return sorted((one.due_at, one.cause.value, (one.missed_because or one.outcome).value) for one in told)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(steps=[("wait", 45), ("pause", None), ("wait", 30), ("resume", None), ("wait", 9), ("poll", None)], limit=2)
@example(steps=[("edit", (OFTEN, 2)), ("wait", 130), ("poll", None), ("poll", None), ("wait", 30)], limit=1000)
@given(steps=steps, limit=st.sampled_from([1, 3, 1000]))
def test_any_life_is_told_as_it_was(life, steps, limit) -> None:
    life.job = type(life.job)()
    witness = Witness(life.after(days=1))
    for step, detail in steps:
        witness.see(step, detail)

    assert told_by_pages(life, witness.start + datetime.resolution, limit) == [
        one for one in witness.tell() if one[0] > witness.start
    ]
