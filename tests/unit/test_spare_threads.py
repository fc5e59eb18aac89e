"""Who may use the spare threads of a full executor, and when the others return."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from execution.spare import LATEST, SOONEST, SPACING, Returns, SpareThreads, choose

ALICE, CHARLIE, ERIN = (UUID(int=number) for number in (1, 2, 3))
NOW = datetime(2026, 11, 18, tzinfo=UTC)


def executions(*tenants: UUID) -> list[tuple[UUID, UUID]]:
    return [(UUID(int=100 + number), tenant) for number, tenant in enumerate(tenants)]


def test_a_tenant_that_holds_all_threads_gets_no_spare_one() -> None:
    offered = executions(ALICE, ALICE, ALICE)

    assert choose(offered, Counter({ALICE: 8}), room=2, threads=8, spare=2) == ([], [one for one, _ in offered])


def test_the_first_execution_of_another_tenant_starts_whatever_is_before_it() -> None:
    offered = executions(*[ALICE] * 30, CHARLIE)

    chosen, others = choose(offered, Counter({ALICE: 8}), room=2, threads=8, spare=2)

    assert chosen == [offered[-1][0]]
    assert others == [one for one, _ in offered[:-1]]


def test_an_executor_with_one_thread_and_one_spare_serves_two_tenants() -> None:
    [(first, _)] = offered = executions(CHARLIE)

    assert choose(offered, Counter({ALICE: 1}), room=1, threads=1, spare=1) == ([first], [])


@given(
    st.lists(st.sampled_from([ALICE, CHARLIE, ERIN]), max_size=40),
    st.dictionaries(st.sampled_from([ALICE, CHARLIE, ERIN]), st.integers(1, 12)),
    st.integers(0, 6),
    st.integers(1, 16),
    st.integers(1, 4),
)
def test_nothing_is_lost_nothing_is_started_twice_and_no_share_is_exceeded(
    tenants, running, room, threads, spare
) -> None:
    offered = executions(*tenants)

    chosen, others = choose(offered, Counter(running), room=room, threads=threads, spare=spare)

    assert sorted(chosen + others) == sorted(one for one, _ in offered)
    assert len(chosen) <= room
    of = dict(offered)
    for tenant, started in Counter(of[one] for one in chosen).items():
        sharing = len(running.keys() | {tenant})
        assert running.get(tenant, 0) + started <= min(threads, max(1, (threads + spare) // sharing))


@given(st.lists(st.integers(0, 300), max_size=20))
def test_postponed_executions_return_soon_one_after_another_and_never_too_late(counts: list[int]) -> None:
    returns = Returns()

    times = [at for count in counts for at in returns.take([ALICE] * count, NOW)]

    assert times == sorted(times)
    assert all(NOW + SOONEST <= at <= NOW + LATEST for at in times)
    assert times[:3] == [NOW + SOONEST + number * SPACING for number in range(len(times[:3]))]


def test_a_clock_that_was_put_back_does_not_postpone_beyond_the_bound() -> None:
    returns = Returns()
    returns.take([ALICE] * 5, NOW + timedelta(hours=3))

    [at] = returns.take([ALICE], NOW)

    assert at == NOW + LATEST


def test_the_backlog_of_one_tenant_postpones_no_other_tenants_executions_any_further() -> None:
    spare = SpareThreads(8, 2)
    for _ in range(20):
        spare.divide(executions(*[ALICE] * 500), Counter({ALICE: 8}), room=2, now=NOW)
    offered = executions(*[ALICE] * 497, CHARLIE, CHARLIE, CHARLIE)

    chosen, others = spare.divide(offered, Counter({ALICE: 8}), room=2, now=NOW)

    assert chosen == [offered[-3][0], offered[-2][0]]
    assert others[-1] == (offered[-1][0], NOW + SOONEST)
    assert others[0][1] == NOW + LATEST


def test_the_last_spare_thread_is_not_for_another_tenant_of_an_owner_who_holds_threads() -> None:
    offered = executions(CHARLIE, CHARLIE, ERIN)
    owner_of = {ALICE: 1, CHARLIE: 1, ERIN: 2}

    for room, chosen in ((1, [2]), (2, [0, 2])):
        found, _ = choose(offered, Counter({ALICE: 8}), room=room, threads=8, spare=2, owner_of=owner_of)
        assert found == [offered[number][0] for number in chosen]
    for owner_of in ({}, {ERIN: 2}, {ALICE: 1, CHARLIE: 3, ERIN: 2}):
        assert choose(offered, Counter({ALICE: 8}), room=1, threads=8, spare=2, owner_of=owner_of)[0] == [offered[0][0]]
