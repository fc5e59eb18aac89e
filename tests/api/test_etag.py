"""Nobody overwrites what they have not seen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connections
from django.utils import timezone

from jobs.models import AuditEvent, Job
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture
def created(api):
    return api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY, "name": "first"})


@pytest.fixture
def address(created) -> str:
    return f"/api/v1/jobs/{created.json()['id']}"


def test_every_answer_that_shows_a_job_has_its_tag(api, created, address) -> None:
    assert created["ETag"] == api.get(address)["ETag"]
    changed = api.patch(address, {"name": "second"})
    assert changed["ETag"] == api.get(address)["ETag"] != created["ETag"]
    for act in ("pause", "resume", "cancel"):
        assert api.post(f"{address}/{act}")["ETag"]
    assert api.get(address)["ETag"].startswith('"5-')


def test_a_change_to_what_was_seen_is_made(api, created, address) -> None:
    answer = api.patch(address, {"name": "second"}, headers={"If-Match": created["ETag"]})

    assert answer.status_code == 200 and answer.json()["name"] == "second"


@pytest.mark.parametrize("method", ["patch", "delete"])
def test_a_change_to_what_somebody_else_has_changed_since_is_refused(api, created, address, method) -> None:
    api.patch(address, {"name": "second"})

    answer = getattr(api, method)(address, {"name": "third"}, headers={"If-Match": created["ETag"]})

    assert answer.status_code == 412
    assert answer["Content-Type"] == "application/problem+json"
    assert "Read it again" in answer.json()["detail"]
    assert Job.objects.get().name == "second"
    assert AuditEvent.objects.count() == 2


def test_a_job_that_came_due_meanwhile_can_still_be_changed(api, created, address) -> None:
    Job.objects.update(next_run_at=timezone.now() + timedelta(hours=9), runs=1)
    seen_since = api.get(address)["ETag"]

    assert seen_since != created["ETag"]
    assert api.patch(address, {"name": "second"}, headers={"If-Match": created["ETag"]}).status_code == 200


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("*", 200),
        ('"other", {}', 200),
        ("W/{}", 412),
        ('"nonsense"', 412),
        ("", 412),
        ('"1"', 412),
        ('"99999999999-a"', 412),
    ],
)
def test_if_match_is_read_as_the_standard_has_it(api, created, address, wanted, code) -> None:
    answer = api.patch(address, {"name": "second"}, headers={"If-Match": wanted.format(created["ETag"])})

    assert answer.status_code == code


@pytest.mark.parametrize("wanted", ["{}", "W/{}", '"other", {}', "*"])
def test_what_has_not_changed_is_not_sent_again(api, created, address, wanted) -> None:
    answer = api.get(address, headers={"If-None-Match": wanted.format(created["ETag"])})

    assert answer.status_code == 304 and answer.content == b""
    assert answer["ETag"] == created["ETag"]


def test_a_new_due_time_is_sent_and_so_is_a_job_with_more_shown(api, created, address) -> None:
    known = {"If-None-Match": created["ETag"]}
    assert api.get(f"{address}?expand=last_execution", headers=known).status_code == 200

    Job.objects.update(next_run_at=timezone.now() + timedelta(hours=9))

    assert api.get(address, headers=known).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_changes_that_race_one_is_made_and_the_others_are_refused(alice, created, address) -> None:
    rivals = 6
    start = Barrier(rivals)

    def change(number: int) -> tuple[int, str]:
        client = client_of(alice)
        start.wait()
        try:
            answer = client.patch(address, {"name": f"rival {number}"}, headers={"If-Match": created["ETag"]})
        finally:
            connections.close_all()
        return answer.status_code, f"rival {number}"

    with ThreadPoolExecutor(rivals) as pool:
        answers = list(pool.map(change, range(rivals)))

    assert sorted(code for code, _ in answers) == [200] + [412] * (rivals - 1)
    assert Job.objects.get().name == next(name for code, name in answers if code == 200)
    assert AuditEvent.objects.filter(action="update").count() == 1
