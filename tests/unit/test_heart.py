"""Whose lease is extended at a beat."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from execution import heart
from execution.heart import Heart
from jobs.ledger import Claim
from jobs.limits import Limits

LEASE = timedelta(seconds=0.6)  # a beat every 0.2 seconds


class Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def claimed(ago: float = 0.0) -> Claim:
    began = Clock().now() - timedelta(seconds=ago)
    return Claim(uuid4(), 1, uuid4(), uuid4(), "task", 5, 0, "{}", Limits(), "me", began)


@pytest.fixture
def beaten(monkeypatch) -> list:
    told: list = []

    def extend(leases):
        told.append([one for one, _, _ in leases])
        return {(one, attempt): False for one, attempt, _ in leases}

    monkeypatch.setattr(heart.ledger, "heartbeat", extend)
    return told


def beats_for(held, seconds: float) -> None:
    one = Heart(lambda: [(claim, LEASE) for claim in held()], clock=Clock(), lost=_no, cancelled=_no)
    one.start()
    time.sleep(seconds)
    one.stop()


def _no(claims: list[Claim]) -> None:
    assert claims == []


def test_what_is_held_for_long_has_its_lease_extended_again_and_again(beaten) -> None:
    old = claimed(ago=5)

    beats_for(lambda: [old], 0.9)

    assert len(beaten) >= 2
    assert all(ids == [old.id] for ids in beaten)


def test_what_was_only_just_claimed_is_left_alone(beaten) -> None:
    old = claimed(ago=5)

    beats_for(lambda: [old, claimed()], 0.9)

    assert beaten
    assert all(ids == [old.id] for ids in beaten)


def test_what_was_only_just_claimed_is_extended_at_the_next_beat_or_the_one_after(beaten) -> None:
    new = claimed()

    beats_for(lambda: [new], 0.9)

    assert beaten and beaten[0] == [new.id]


def test_what_was_claimed_before_the_clock_was_put_back_is_still_looked_after(beaten) -> None:
    claimed_in_future = claimed(ago=-30)

    beats_for(lambda: [claimed_in_future], 0.9)

    assert len(beaten) >= 2
