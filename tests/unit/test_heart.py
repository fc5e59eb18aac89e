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


def test_what_was_only_just_claimed_is_extended_before_its_lease_ends_even_if_a_beat_is_lost(beaten) -> None:
    pause = LEASE / heart.BEATS_A_LEASE
    longest_unsaid = heart.JUST_CLAIMED * pause + pause

    assert longest_unsaid + pause < LEASE
