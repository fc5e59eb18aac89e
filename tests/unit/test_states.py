"""The tables of states hang together."""

from __future__ import annotations

from jobs.states import (
    CLAIMABLE,
    FINAL,
    JOB_TRANSITIONS,
    REPLAY_TRANSITIONS,
    TRANSITIONS,
    UNFINISHED,
    JobStatus,
    ReplayState,
    Status,
)


def test_every_state_has_its_row() -> None:
    assert set(TRANSITIONS) == set(Status)
    assert set(JOB_TRANSITIONS) == set(JobStatus)
    assert set(REPLAY_TRANSITIONS) == set(ReplayState)


def test_every_execution_can_end() -> None:
    def ends(status: Status, seen: frozenset[Status] = frozenset()) -> bool:
        return status in FINAL or any(ends(target, seen | {status}) for target in TRANSITIONS[status] - seen)

    assert all(ends(status) for status in Status)


def test_final_and_unfinished_share_nothing_and_leave_nothing_out() -> None:
    assert {Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED} == FINAL
    assert set(Status) == FINAL | UNFINISHED and not FINAL & UNFINISHED


def test_only_waiting_states_can_be_claimed() -> None:
    assert {Status.SCHEDULED, Status.QUEUED, Status.RETRYING} == CLAIMABLE
