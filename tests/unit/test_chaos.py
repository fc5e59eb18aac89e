"""The judge of chaos campaigns sees every kind of wrong, and nothing wrong in a history that is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos.checker import Verdict, check
from tests.chaos.history import Accepted, Act, AttemptRow, ExecutionRow, Fault, History, JobRow, Lifetime, Run
from tests.chaos.plan import FULL, ONE_DATABASE, plan
from tests.chaos.recovery import percentile, recovery

T = 1_000_000.0  # when the histories below begin
ONCE = {"type": "once"}
EACH_SECOND = {"type": "interval", "seconds": 1}


def ran(attempt: int = 1, *, pid: int = 7, at: float = T + 1, took: float | None = 0.5, what: str = "completed") -> Run:
    return Run(
        "e", attempt, pid, f"executor-{pid}", at, None if took is None else at + took, "" if took is None else what
    )


def row(status: str = "COMPLETED", attempt: int = 1, *, author: int | None = None, **changes) -> ExecutionRow:
    result = {"attempt": author or attempt} if status == "COMPLETED" else None
    made = ExecutionRow("e", "j", status, attempt, T, T + 0.1, result=result, worker="host-7")
    return replace(made, **changes)


def history(*, runs=(), rows=(), faults=(), attempts=(), acts=(), schedule=ONCE, status="FINISHED") -> History:
    return History(
        accepted=[Accepted("j", "now", T)],
        acts=list(acts),
        runs=list(runs),
        faults=list(faults),
        lifetimes=[Lifetime("executor-7", 7, T - 9, None), Lifetime("executor-8", 8, T - 9, None)],
        jobs=[JobRow("j", status, schedule)],
        executions=list(rows),
        attempts=list(attempts),
    )


def found(verdict: Verdict) -> dict[str, int]:
    return {name: len(getattr(verdict, name)) for name in vars(verdict) if getattr(verdict, name)}


def lost_attempt(number: int = 1, *, pid: int = 7, until: float = T + 8) -> AttemptRow:
    return AttemptRow("e", number, "UNKNOWN", f"host-{pid}", T + 1, until)


KILL = Fault("kill", "executor-7", T + 1.2, T + 1.2, pid=7)


def test_a_job_that_ran_once_and_says_so_is_clean() -> None:
    assert check(history(runs=[ran()], rows=[row()])).clean


def test_an_accepted_job_without_a_row_is_lost() -> None:
    told = history()
    told.jobs = []

    assert found(check(told)) == {"lost": 1}


def test_an_accepted_job_that_never_became_an_execution_is_lost() -> None:
    assert found(check(history())) == {"lost": 1}


def test_a_job_cancelled_before_it_was_due_is_not_lost() -> None:
    assert check(history(acts=[Act("j", "cancel", T, T + 0.1)], status="CANCELLED")).clean


@pytest.mark.parametrize(("paused_at", "verdict"), [(0.7, {}), (60, {"lost": 1})])
def test_a_recurring_job_paused_before_it_was_due_is_not_lost_and_one_paused_long_after_is(paused_at, verdict) -> None:
    pause = Act("j", "pause", T + paused_at, T + paused_at + 0.1)

    assert found(check(history(acts=[pause], schedule=EACH_SECOND, status="PAUSED"))) == verdict


@pytest.mark.parametrize("status", ["SCHEDULED", "QUEUED", "RUNNING", "RETRYING"])
def test_an_execution_that_is_never_finished_is_lost(status: str) -> None:
    assert found(check(history(rows=[row(status)]))) == {"lost": 1}


def test_a_row_that_says_completed_needs_a_handler_that_says_so_too() -> None:
    assert found(check(history(rows=[row()]))) == {"lost": 1}


def test_a_failure_needs_a_reason_and_its_place_among_the_dead_letters() -> None:
    failed = ran(what="failed")
    told = [AttemptRow("e", 1, "FAILED", "host-7", T + 1, T + 1.5)]

    assert check(history(runs=[failed], rows=[row("FAILED", error="Refused")], attempts=told)).clean
    assert found(check(history(runs=[failed], rows=[row("FAILED")], attempts=told))) == {"lost": 1}
    unburied = row("FAILED", error="Refused", wake_at=T + 9)
    assert found(check(history(runs=[failed], rows=[unburied], attempts=told))) == {"lost": 1}


def test_a_cancelled_execution_needs_somebody_who_cancelled_it() -> None:
    assert found(check(history(rows=[row("CANCELLED")]))) == {"lost": 1}
    assert check(history(rows=[row("CANCELLED")], acts=[Act("j", "cancel", T, None)], status="CANCELLED")).clean


def test_a_due_time_recorded_twice_is_a_duplicate() -> None:
    twice = [row(), row(id="f")]

    assert found(check(history(runs=[ran(), replace(ran(), execution="f")], rows=twice))) == {"duplicate_rows": 1}


def test_a_job_due_once_that_is_recorded_for_two_times_is_a_duplicate() -> None:
    twice = [row(), row(id="f", due_at=T + 5)]

    assert found(check(history(runs=[ran(), replace(ran(), execution="f")], rows=twice))) == {"duplicate_rows": 1}


def recurring(*due: float, acts: tuple[Act, ...] = (), recorded: float = 0.1) -> History:
    rows = [row(id=f"e{at}", due_at=T + at, recorded_at=T + at + recorded) for at in due]
    runs = [replace(ran(at=T + at), execution=f"e{at}") for at in due]
    return history(runs=runs, rows=rows, acts=acts, schedule=EACH_SECOND, status="PAUSED")


def test_a_recurring_job_with_every_due_time_is_clean() -> None:
    assert check(recurring(0, 1, 2, 3)).clean


def missed(*due: float, found: float, **last) -> History:
    """One run, and skipped due times after it, all recorded at once; then the next due time."""
    told = recurring(due[0], found + 1)
    late = replace(told.executions[0], recorded_at=T + found)
    skipped = [
        row("SKIPPED", 0, id=f"s{at}", due_at=T + at, recorded_at=T + found, reason="Missed", worker="")
        for at in due[1:]
    ]
    skipped[-1] = replace(skipped[-1], **last)
    return replace(told, executions=[late, *skipped, told.executions[1]])


def test_missed_due_times_are_skipped_each_or_covered() -> None:
    assert check(missed(0, *range(1, 71), found=70)).clean
    assert check(missed(0, *range(1, 31), found=70, covers_until=T + 70)).clean
    assert found(check(missed(0, *range(1, 31), found=70))) == {"lost": 1}
    assert found(check(missed(0, *range(1, 31), found=70, covers_until=T + 60))) == {"lost": 1}


def test_a_due_time_skipped_without_need_or_reason_is_lost() -> None:
    assert found(check(missed(0, *range(1, 41), found=40))) == {"lost": 40}
    assert found(check(missed(0, *range(1, 71), found=70, reason=""))) == {"lost": 1}


def test_a_due_time_missing_in_between_is_lost_unless_a_pause_took_it() -> None:
    assert found(check(recurring(0, 1, 3))) == {"lost": 1}
    assert check(
        recurring(0, 1, 3, acts=(Act("j", "pause", T + 1.5, T + 1.6), Act("j", "resume", T + 2.5, T + 2.6)))
    ).clean
    assert found(check(recurring(0, 1, 70, recorded=65.0))) == {"lost": 1}, "late, and nothing says what was missed"


def test_a_pause_elsewhere_explains_no_missing_due_time() -> None:
    acts = (Act("j", "pause", T + 5.5, T + 5.6), Act("j", "resume", T + 5.7, T + 5.8))

    assert found(check(recurring(0, 1, 3, 4, 5, 6, acts=acts))) == {"lost": 1}


def test_a_due_time_off_the_schedule_is_a_duplicate() -> None:
    assert found(check(recurring(0, 1, 1.5, 2))) == {"duplicate_rows": 2}


def test_a_job_that_stopped_recurring_long_before_the_end_is_lost() -> None:
    assert found(check(recurring(0, 1, 2, acts=(Act("j", "pause", T + 60, T + 60.1),)))) == {"lost": 1}


def test_the_result_of_an_attempt_that_is_not_the_last_is_a_stale_write() -> None:
    both = [ran(1, took=8), ran(2, pid=8, at=T + 8)]
    told = history(runs=both, rows=[row(attempt=2, author=1)], attempts=[lost_attempt()], faults=[KILL])

    assert found(check(told))["stale_writes"] == 1


def test_one_attempt_given_to_two_workers_is_a_stale_write() -> None:
    told = history(runs=[ran(), ran(pid=8, at=T + 3)], rows=[row()])

    assert found(check(told)) == {"stale_writes": 1}


def test_an_attempt_the_row_knows_nothing_of_is_a_stale_write() -> None:
    assert found(check(history(runs=[ran(), ran(2, at=T + 3)], rows=[row()])))["stale_writes"] == 1


def repeated(*faults: Fault) -> History:
    both = [ran(1), ran(2, pid=8, at=T + 8)]
    return history(runs=both, rows=[row(attempt=2)], attempts=[lost_attempt()], faults=faults)


def test_an_effect_that_happened_twice_needs_a_fault_on_its_first_worker() -> None:
    assert found(check(repeated())) == {"unexplained": 2}  # the effect, and the lease
    assert check(repeated(KILL)).clean


@pytest.mark.parametrize(
    "fault",
    [
        replace(KILL, pid=8, target="executor-8"),  # another's
        replace(KILL, begin=T + 30, end=T + 30),  # too late
        replace(KILL, begin=T - 30, end=T - 30),  # too early
        Fault("link_cut", "executor-7", T + 1, T + 1, server="rabbitmq"),  # not what outcomes are written to
        Fault("link_cut", "executor-8", T + 1, T + 1, server="database"),
        Fault("redis_flush", "redis", T + 1, T + 1, server="redis"),
        Fault("term", "executor-7", T + 1.2, T + 1.2, pid=7),  # there was time to finish
    ],
)
def test_a_fault_that_did_not_hit_the_attempt_explains_nothing(fault: Fault) -> None:
    assert "unexplained" in found(check(repeated(fault)))


@pytest.mark.parametrize(
    "fault",
    [
        Fault("freeze", "executor-7", T + 0.5, T + 7, pid=7),
        Fault("link_deaf", "executor-7", T + 1, T + 3, server="database"),
        Fault("backend_kill", "executor-7", T + 1.5, T + 1.5, server="database"),
        Fault("server_kill", "database", T + 0.5, T + 2, server="database"),
    ],
)
def test_a_worker_cut_off_from_the_database_explains_a_repeat(fault: Fault) -> None:
    assert check(repeated(fault)).clean


def test_two_attempts_at_once_need_a_fault_on_the_older_one() -> None:
    both = [ran(1, took=6, what="failed"), ran(2, pid=8, at=T + 3)]
    told = history(runs=both, rows=[row(attempt=2)], attempts=[replace(lost_attempt(), outcome="FAILED")])

    assert found(check(told)) == {"unexplained": 1}
    told.faults = [Fault("freeze", "executor-7", T + 1.5, T + 6, pid=7)]
    assert check(told).clean


def test_a_lease_lost_without_a_fault_is_unexplained() -> None:
    told = history(runs=[ran(2, pid=8, at=T + 8)], rows=[row(attempt=2)], attempts=[lost_attempt()])

    assert found(check(told)) == {"unexplained": 1}


def test_recovery_is_counted_from_the_kill_to_the_next_start() -> None:
    told = history(runs=[ran(1, took=None), ran(2, pid=8, at=T + 6.2)], rows=[row(attempt=2)], faults=[KILL])

    assert recovery(told).after_kill == [pytest.approx(5.0)]
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0 and percentile([], 0.99) == 0.0


@pytest.mark.parametrize("cast", [FULL, ONE_DATABASE])
def test_the_seed_alone_decides_what_breaks_when(cast) -> None:
    first, again, other = (plan(seed, 150, cast, lease=5, poll_lease=3) for seed in (1, 1, 2))

    assert first == again != other
    assert len(first) >= 75
    assert {"kill", "freeze", "term", "backend_kill", "server_kill", "server_restart", "link_deaf"} <= {
        fault.kind for fault in first
    }
