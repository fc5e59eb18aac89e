"""Executions in partitions: everything works as on one table, and what is old goes at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.utils import timezone

from benchmarks.acts import Day
from benchmarks.fleet import TASK
from benchmarks.load import history, various
from benchmarks.pages import Pages
from benchmarks.plans import explained, scanned
from execution.registry import registry, task
from jobs import ledger, partitions
from jobs.ids import lowest_id
from jobs.models import Attempt, Execution, Horizon, LogLine
from jobs.models.horizon import OF_ALL
from jobs.partitions import dropping
from jobs.partitions.converting import take_triggers
from jobs.partitions.layout import CHILDREN, DEFAULT, FIRST, ROOM, TABLE, begin_of_period, name_of
from jobs.partitions.places import by_table, places
from jobs.states import AttemptOutcome, Level, Status
from scheduler_project.doctor import database
from tests.engine.conftest import Anything
from tests.past import past

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="partitions are PostgreSQL's")

DAY = timedelta(days=1)
PAST = 10  # days that have a partition of their own


@pytest.fixture
def as_before(transactional_db: None) -> Iterator[None]:
    """Whatever was made of the table, the next test finds it as migrations have left it."""
    references = ask(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE confrelid = 'jobs_execution'::regclass"
    )
    yield
    places.forget()
    if not partitions.partitioned():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLE}, {', '.join(CHILDREN)}")
        cursor.execute(f"CREATE TABLE plain (LIKE {TABLE} INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH ({ROOM})")
        indexes = ask(f"SELECT indexdef FROM pg_indexes WHERE tablename = '{TABLE}'")
        triggers = take_triggers(cursor)
        cursor.execute(f"DROP TABLE {', '.join([TABLE, *dropping._left_detached()])}")
        cursor.execute(f"ALTER TABLE plain RENAME TO {TABLE}")
        for (definition,) in indexes:
            cursor.execute(definition.replace(" ONLY ", " "))
        for definition in triggers:
            cursor.execute(definition)
        cursor.execute(f"ALTER TABLE {TABLE} ADD PRIMARY KEY USING INDEX {TABLE}_pkey")
        for table, name, definition in references:
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")


@pytest.fixture
def in_partitions(as_before: None) -> None:
    """A partition for each of the last days and of the next ones, as after a while in production."""
    partitions.convert(now=timezone.now() - (PAST + 2) * DAY, length=DAY, ahead=PAST + 5)


def ask(question: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchall()


def names() -> list[str]:
    return [one.name for one in partitions.partitions()]


def place(execution: Execution) -> str:
    [(name,)] = ask(f"SELECT tableoid::regclass::text FROM {TABLE} WHERE id = '{execution.pk}'")
    return name


def day_of(execution: Execution) -> str:
    return name_of(begin_of_period(execution.due_at, DAY))


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("partitions", *arguments, stdout=out)
    return out.getvalue()


class TestConverting:
    def test_a_table_in_use_becomes_the_first_partition_with_every_row_and_index(self, as_before, new_job) -> None:
        old, young = past(new_job(), 400 * DAY), past(new_job(), timedelta(0), Status.RUNNING)
        [(file,)] = ask(f"SELECT pg_relation_filenode('{TABLE}')")
        indexes = ask(f"SELECT indexname FROM pg_indexes WHERE tablename = '{TABLE}' ORDER BY 1")

        command("convert")

        assert ask(f"SELECT pg_relation_filenode('{FIRST}')") == [(file,)], "it was written anew"
        assert ask(f"SELECT indexname FROM pg_indexes WHERE tablename = '{TABLE}' ORDER BY 1") == indexes
        of_first = ask(f"SELECT count(*) FROM pg_indexes WHERE tablename = '{FIRST}'")
        assert of_first == [(len(indexes),)], "an index was made twice"
        assert {place(old), place(young)} == {FIRST}
        assert names()[0] == FIRST and names()[-1] == DEFAULT and len(names()) == 9

    def test_what_is_due_later_goes_to_a_partition_of_its_own_and_what_none_is_for_to_the_default(
        self, as_before, new_job
    ) -> None:
        job = new_job()
        command("convert")

        tomorrow, next_year = past(job, -3 * DAY), past(job, -400 * DAY)

        assert place(tomorrow) == day_of(tomorrow)
        assert place(next_year) == DEFAULT

    def test_short_partitions_leave_a_day_to_look_through_a_large_table_too(self, as_before) -> None:
        command("convert", "--every", "1h", "--ahead", "3")

        first, *hours, _ = partitions.partitions()
        assert first.end >= timezone.now() + DAY
        assert [one.end - one.start for one in hours] == [timedelta(hours=1)] * 3

    def test_nothing_is_left_of_a_conversion_that_failed(self, as_before, new_job) -> None:
        past(new_job(), -30 * DAY)  # beyond the end that the first partition would have

        with pytest.raises(Exception, match="jobs_execution_before_partitions"):
            partitions.convert(now=timezone.now(), length=DAY, ahead=1)

        assert not partitions.partitioned()
        assert not ask("SELECT FROM pg_constraint WHERE conname = 'jobs_execution_before_partitions'")
        assert ask(f"SELECT count(*) FROM pg_constraint WHERE confrelid = '{TABLE}'::regclass") == [(len(CHILDREN),)]

    def test_what_would_be_cut_off_is_told_and_nothing_is_done(self, as_before) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE VIEW of_ours AS SELECT id FROM {TABLE}")
        try:
            with pytest.raises(CommandError, match="of_ours"):
                command("convert")
        finally:
            with connection.cursor() as cursor:
                cursor.execute("DROP VIEW of_ours")

        assert not partitions.partitioned()

    def test_it_is_done_once(self, in_partitions) -> None:
        with pytest.raises(CommandError, match="already"):
            command("convert")

    def test_without_partitions_there_is_nothing_to_tend(self, as_before) -> None:
        with pytest.raises(CommandError, match="convert"):
            command("tend")


class TestAhead:
    def test_partitions_are_made_for_the_days_to_come_and_only_once(self, in_partitions) -> None:
        today = begin_of_period(timezone.now(), DAY)

        assert name_of(today + 12 * DAY) in command("tend", "--ahead", "12")

        assert {name_of(today + n * DAY) for n in range(13)} <= set(names())
        assert "none" in command("tend", "--ahead", "12")
        assert name_of(today) in command("show")

    def test_days_that_began_in_the_default_partition_are_left_there(self, as_before, new_job) -> None:
        partitions.convert(now=timezone.now() - 30 * DAY, length=DAY, ahead=1)  # and then forgotten
        late = past(new_job(), timedelta(0))

        told = command("tend", "--ahead", "1")

        assert f"Not made: {day_of(late)}" in told
        assert place(late) == DEFAULT
        assert name_of(begin_of_period(late.due_at, DAY) + DAY) in names()


class TestLookingAfter:
    def test_the_doctor_tells_when_partitions_run_out(self, in_partitions) -> None:
        command("tend", "--ahead", "1")
        [enough] = [database.partitions_ahead()]
        with connection.cursor() as cursor:
            for one in partitions.partitions():
                if one.end and one.end > timezone.now() + DAY:
                    cursor.execute(f"DROP TABLE {one.name}")

        assert enough == []
        [finding] = database.partitions_ahead()
        assert finding.code == "database.partitions_run_out" and "partitions tend" in finding.remedy

    def test_the_history_is_counted_over_all_partitions(self, in_partitions, new_job, monkeypatch, settings) -> None:
        settings.HISTORY_KEPT = None
        past(new_job(), 8 * DAY)
        past(new_job(), 3 * DAY)
        monkeypatch.setattr(database, "MANY_ROWS", 2)
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {TABLE}")

        assert [one.code for one in database.history_without_end()] == ["database.much_history"]


class TestTheEngine:
    def test_executions_run_are_retried_fail_and_are_recovered_as_ever(
        self, in_partitions, system, new_job, recorder
    ) -> None:
        def act(payload: Anything, run: Any) -> None:
            if payload.model_dump().get("fails", 0) >= run.attempt:
                raise ValueError("it fails")

        recorder.act = act
        lost = new_job()
        system.run_until(lambda: lost.executions.filter(status=Status.COMPLETED))
        lost.executions.update(status=Status.RUNNING, wake_at=timezone.now(), finished_at=None, worker="gone")
        retry = {"max_retries": 1, "retry_delay": 0.1}
        fine, flaky = new_job(), new_job(payload={"fails": 1}, **retry)
        failing = new_job(payload={"fails": 2}, **retry)

        system.run_until(
            lambda: (
                lost.executions.filter(status=Status.COMPLETED, attempt=2)
                and fine.executions.filter(status=Status.COMPLETED, attempt=1)
                and flaky.executions.filter(status=Status.COMPLETED, attempt=2)
                and failing.executions.filter(status=Status.FAILED, attempt=2)
            )
        )

        assert Attempt.objects.filter(execution__job=failing).count() == 2
        assert Attempt.objects.get(execution__job=lost).outcome == AttemptOutcome.UNKNOWN
        assert all(place(one) == day_of(one) for one in Execution.objects.all())

    def test_a_batch_over_several_partitions_is_claimed_and_settled_whole(self, in_partitions, new_job) -> None:
        waiting = [past(new_job(), age, Status.QUEUED) for age in (400 * DAY, 3 * DAY, 2 * DAY, timedelta(0), 3 * DAY)]
        ids, now = [one.pk for one in waiting], timezone.now()

        claims = ledger.claim(ids, worker="me", now=now, until=now + DAY)
        with transaction.atomic():
            led_to = ledger.settle([ledger.Outcome(*one.key, Status.COMPLETED, now) for one in claims])

        assert len({place(one) for one in waiting}) == 4
        assert sorted(claim.id for claim in claims) == sorted(ids)
        assert led_to == [Status.COMPLETED] * 5

    def test_a_partition_that_a_process_does_not_know_of_hides_nothing_from_it(self, in_partitions, new_job) -> None:
        assert FIRST not in places.known().tables and len(places.known().tables) > 1
        new = partitions.make_ahead(now=timezone.now(), length=DAY, ahead=12).names[-1]
        later = past(new_job(), -12 * DAY, Status.QUEUED, not_before=timezone.now())

        [claim] = ledger.claim([later.pk], worker="me", now=timezone.now(), until=timezone.now() + DAY)

        assert place(later) == new and claim.id == later.pk

    def test_who_runs_what_is_in_a_partition_that_goes_neither_loses_its_lease_nor_its_outcome(
        self, in_partitions, new_job
    ) -> None:
        waiting, running = (past(new_job(), 8 * DAY, Status.QUEUED) for _ in range(2))
        now = timezone.now()
        [held] = ledger.claim([running.pk], worker="me", now=now, until=now + DAY)

        command("tend", "--keep", "5d")  # by another process: what this one knows is a moment old

        assert ledger.heartbeat([(*held.key, now + 2 * DAY)]).keys() == {held.key}
        [claim] = ledger.claim([waiting.pk], worker="me", now=now, until=now + DAY)
        with transaction.atomic():
            led_to = ledger.settle([ledger.Outcome(*one.key, Status.COMPLETED, now) for one in (held, claim)])
        assert led_to == [Status.COMPLETED] * 2 and place(running) == DEFAULT

    def test_a_batch_that_meets_a_partition_that_somebody_dropped_is_claimed_whole_the_next_time(
        self, in_partitions, new_job
    ) -> None:
        there, gone = (past(new_job(), age, Status.QUEUED) for age in (DAY, timedelta(0)))
        batch, now = [there.pk, gone.pk], timezone.now()
        assert day_of(gone) in places.known().tables
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {day_of(gone)}")

        with pytest.raises(ProgrammingError, match="does not exist"):
            ledger.claim(batch, worker="me", now=now, until=now + DAY)

        assert Execution.objects.get().status == Status.QUEUED, "half of the batch is claimed, and nobody knows"
        [claim] = ledger.claim(batch, worker="me", now=now, until=now + DAY)
        assert claim.id == there.pk

    def test_what_a_thread_was_told_of_partitions_stays_when_another_forgets_it(self, in_partitions) -> None:
        today = begin_of_period(timezone.now(), DAY)
        rows = [(lowest_id(today + n * DAY),) for n in range(-1, 3)]

        found = iter(by_table(rows))
        first = next(found)
        places.forget()

        assert [first, *found] == [(name_of(today + n * DAY), [row]) for n, row in zip(range(-1, 3), rows, strict=True)]

    def test_a_due_time_is_recorded_once_in_a_partition_too(self, in_partitions, new_job) -> None:
        known = past(new_job(), DAY)

        with pytest.raises(IntegrityError):
            Execution.objects.bulk_create([known])

    def test_every_hot_statement_and_every_page_is_served_by_an_index(
        self, in_partitions, settings, monkeypatch
    ) -> None:
        settings.POLL_BATCH = 100
        monkeypatch.setattr("jobs.admin.lists.LOOKED_THROUGH", 500)
        task(TASK, payload=Anything)(lambda payload, run: None)
        various(20_000)
        history(150_000, of_jobs=100)  # a second apart: the last days
        try:
            pages = Pages(timezone.now() - DAY)
            asked = explained([*Day().acts(), *pages.acts(), *pages.narrowed(), *pages.searched()])
        finally:
            del registry._tasks[TASK]

        read_whole = [f"{act}: {one.place}\n{one.plan}" for act, one in asked if large(scanned(one))]
        assert not read_whole, "\n\n".join(read_whole)


def large(tables: list[str]) -> set[str]:
    """Those of these tables that a look from end to end is too long for: what is empty, or new today, may be read."""
    return {one.name for one in partitions.partitions() if one.rows > 20_000}.union({"jobs_job"}) & set(tables)


class TestDropping:
    def test_what_a_cohort_stands_for_and_nobody_has_looked_at_stays(self, in_partitions, new_job) -> None:
        kept = past(new_job(), 8 * DAY, Status.RUNNING, attempt=1, fresh=True)
        ask(f"INSERT INTO jobs_cohort (look_at, executions) VALUES (now(), ARRAY['{kept.pk}'::uuid]) RETURNING id")

        command("tend", "--keep", "5d")

        assert place(kept) == DEFAULT
        kept.refresh_from_db()
        assert kept.fresh and kept.look_at is None

    def test_old_days_go_whole_with_all_that_belongs_to_them(self, in_partitions, new_job) -> None:
        job = new_job()
        old, young = past(job, 8 * DAY, attempt=2), past(job, 3 * DAY, attempt=2)
        for one in (old, young):
            Attempt.objects.create(execution=one, number=1, outcome="FAILED", error="x", finished_at=one.due_at)
            LogLine.objects.create(execution=one, attempt=1, number=1, at=one.due_at, level=Level.INFO, text="hello")

        told = command("tend", "--keep", "5d")

        assert f"Dropped: {day_of(old)}." in told and FIRST in told
        assert day_of(old) not in names() and day_of(young) in names()
        assert [one.pk for one in Execution.objects.all()] == [young.pk]
        assert Attempt.objects.get().execution_id == LogLine.objects.get().execution_id == young.pk

    @pytest.mark.parametrize("status", [Status.SCHEDULED, Status.RUNNING, Status.RETRYING, Status.FAILED])
    def test_what_is_not_over_and_dead_letters_stay_with_their_attempts(self, in_partitions, new_job, status) -> None:
        kept, gone = past(new_job(), 8 * DAY, status, attempt=1), past(new_job(), 8 * DAY)
        Attempt.objects.create(execution=kept, number=1, outcome="FAILED", error="x", finished_at=kept.due_at)

        command("tend", "--keep", "5d")

        assert place(kept) == DEFAULT and kept.attempts.count() == 1
        assert not Execution.objects.filter(pk=gone.pk).exists()

    def test_what_has_run_only_lately_is_kept_as_long_as_what_was_due_then(self, in_partitions, new_job) -> None:
        made_up_for = past(new_job(), 8 * DAY, finished_at=timezone.now())

        command("tend", "--keep", "5d")

        assert place(made_up_for) == DEFAULT

    def test_a_dead_letter_that_stayed_can_be_replayed(self, in_partitions, system, new_job) -> None:
        kept = past(new_job(), 8 * DAY, Status.FAILED, attempt=1)
        command("tend", "--keep", "5d")

        with transaction.atomic():
            Execution.objects.filter(pk=kept.pk).replay(timezone.now())

        system.run_until(lambda: Execution.objects.filter(pk=kept.pk, status=Status.COMPLETED))

    def test_what_is_gone_is_told_as_forgotten_and_not_as_missed(self, in_partitions, new_job) -> None:
        job = new_job()
        old = past(job, 8 * DAY)

        command("tend", "--keep", "5d")

        assert Horizon.objects.of(job) > old.due_at
        assert Horizon.objects.get(pk=OF_ALL).until <= timezone.now() - 5 * DAY

    def test_a_day_with_too_many_dead_letters_is_left_and_told(self, in_partitions, new_job, monkeypatch) -> None:
        monkeypatch.setattr(dropping, "MOST_MOVED", 1)
        for hours in (1, 2):
            dead = past(new_job(), 8 * DAY + timedelta(minutes=hours), Status.FAILED)

        told = command("tend", "--keep", "5d")

        assert f"Left: {day_of(dead)}, 2 of its executions" in told
        assert place(dead) == day_of(dead)

    def test_one_that_was_interrupted_is_finished_by_the_next(self, in_partitions, new_job, monkeypatch) -> None:
        old = past(new_job(), 8 * DAY)
        LogLine.objects.create(execution=old, attempt=1, number=1, at=old.due_at, level=Level.INFO, text="hello")
        with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
            killed.setattr(dropping, "_forget_orphans", interrupted)
            command("tend", "--keep", "5d")

        command("tend", "--keep", "5d")

        assert not LogLine.objects.exists()
        assert dropping._left_detached() == []

    def test_a_backfill_between_its_two_halves_does_not_keep_it_from_being_finished(
        self, in_partitions, new_job, monkeypatch
    ) -> None:
        old = past(new_job(), 400 * DAY, finished_at=timezone.now())
        with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
            killed.setattr(dropping, "_finish", interrupted)
            command("tend", "--keep", "5d")
        backfilled = Execution.objects.bulk_create([old])[0]

        command("tend", "--keep", "5d")

        assert dropping._left_detached() == [] and place(backfilled) == DEFAULT

    @pytest.mark.parametrize("keep", ["2d", "71h"])
    def test_days_that_processes_still_address_by_name_are_not_dropped(self, in_partitions, new_job, keep) -> None:
        before = names()

        with pytest.raises(CommandError, match="--keep: give at least 3d"):
            command("tend", "--keep", keep)

        assert names() == before

    def test_a_backfill_of_a_day_that_is_gone_has_a_place(self, in_partitions, new_job) -> None:
        command("tend", "--keep", "5d")

        assert place(past(new_job(), 8 * DAY)) == DEFAULT


def interrupted(*arguments: Any) -> None:
    raise KeyboardInterrupt
