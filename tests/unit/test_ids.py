"""Identifiers are derived, unique and sorted by time."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID, uuid4
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from jobs.ids import execution_id, new_job_id, time_of, uuid_of

instants = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))
jobs = st.uuids()


@given(st.integers(0, (1 << 128) - 1))
def test_an_id_made_of_a_number_is_like_any_other(number: int) -> None:
    made, usual = uuid_of(number), UUID(int=number)

    assert made == usual and hash(made) == hash(usual) and str(made) == str(usual)
    assert pickle.loads(pickle.dumps(made)) == usual and copy.deepcopy(made) == usual and repr(made) == repr(usual)


@given(jobs, instants)
def test_the_same_due_time_of_a_job_has_the_same_id(job: UUID, at: datetime) -> None:
    assert execution_id(job, at, "schedule") == execution_id(UUID(job.hex), at.replace(), "schedule")


def test_the_two_instants_of_a_repeated_hour_are_two_due_times() -> None:
    job, first = uuid4(), datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)

    assert first == second  # in their own zone, Python does not tell them apart
    assert execution_id(job, first, "schedule") != execution_id(job, second, "schedule")
    assert execution_id(job, second, "schedule") == execution_id(job, second.astimezone(UTC), "schedule")


@given(jobs, jobs, instants, instants)
def test_another_job_or_due_time_or_cause_has_another_id(one: UUID, other: UUID, at: datetime, then: datetime) -> None:
    same = (one, at) == (other, then)

    assert (execution_id(one, at, "schedule") == execution_id(other, then, "schedule")) == same
    assert execution_id(one, at, "schedule") != execution_id(one, at, "run_now")


@given(jobs, jobs, instants, st.timedeltas(timedelta(milliseconds=1), timedelta(days=365)))
def test_ids_sort_by_due_time(one: UUID, other: UUID, at: datetime, gap: timedelta) -> None:
    assert execution_id(one, at, "schedule") < execution_id(other, at + gap, "schedule")


@given(jobs, instants)
def test_an_id_tells_its_time_and_its_version(job: UUID, at: datetime) -> None:
    identifier = execution_id(job, at, "schedule")

    assert timedelta() <= at - time_of(identifier) < timedelta(milliseconds=1)
    assert identifier.version == 8 and identifier.variant == RFC_4122


def test_job_ids_are_unique_and_tell_their_time() -> None:
    made = {new_job_id() for _ in range(1000)}

    assert len(made) == 1000
    assert {one.version for one in made} == {7}
    assert abs(time_of(new_job_id()) - datetime.now(UTC)) < timedelta(seconds=5)
