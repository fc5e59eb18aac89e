"""Who may see which destinations are in trouble, and close them."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.services import register_admin
from execution.destinations import in_trouble
from execution.models import Destination, Meeting
from tests.conftest import client_of

ORIGIN = "https://hooks.example.com"


@pytest.fixture
def down(team) -> Destination:
    """A destination that Alice's work has met, and that is down."""
    now = timezone.now()
    row = Destination.objects.create(
        name=ORIGIN,
        state=Destination.State.DOWN,
        failures=7,
        error="ConnectTimeout",
        since=now - timedelta(minutes=2),
        probe_at=now + timedelta(seconds=8),
        touched_at=now,
    )
    Meeting.objects.create(destination=row, tenant_id=team.pk)
    Meeting.objects.create(destination=row, tenant_id=uuid4())
    return row


def test_those_whose_work_met_it_see_its_state(bob, team, down) -> None:
    answer = client_of(bob, team).get("/api/v1/destinations")

    [shown] = answer.json()
    assert answer.status_code == 200
    assert {key: shown[key] for key in ("name", "state", "failures", "error")} == {
        "name": ORIGIN,
        "state": "down",
        "failures": 7,
        "error": "ConnectTimeout",
    }
    assert shown["probe_at"] is not None


def test_charlie_does_not_learn_whom_others_talk_to(charlie, down) -> None:
    assert client_of(charlie).get("/api/v1/destinations").json() == []
    assert client_of(None).get("/api/v1/destinations").status_code == 401


def test_staff_see_all_and_close_one_by_hand(db, down) -> None:
    staff = Client()
    staff.force_login(register_admin(username="root", email="root@example.com", password="correct horse battery"))
    page = staff.get("/admin/execution/destination/")
    assert page.status_code == 200 and ORIGIN in page.content.decode()
    assert in_trouble() == [down]

    chosen = {"action": "close_now", "_selected_action": [ORIGIN]}
    answer = staff.post("/admin/execution/destination/", chosen, follow=True)

    assert "Closed 1 destination(s)" in answer.content.decode()
    assert in_trouble() == [] and not Meeting.objects.exists()
