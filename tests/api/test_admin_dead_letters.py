"""Dead letters in the admin: replayed and discarded by those who may."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from accounts.services import register_admin
from jobs import services
from jobs.models import AuditEvent, Execution
from jobs.services import NewJob
from jobs.states import Status

pytestmark = pytest.mark.django_db

LIST = "admin:jobs_execution_changelist"
MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture
def root(client):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


@pytest.fixture
def dead(team) -> Execution:
    job = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=team, actor=None)
    execution = services.run_job_now(job, actor=None)
    Execution.objects.filter(pk=execution.pk).update(status=Status.FAILED, attempt=4, finished_at=timezone.now())
    return execution


def staff(client, *permissions: str):
    """A client of somebody who may do these in the admin, and no more."""
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return client


def act(client, action: str, *executions: Execution):
    chosen = {"action": action, "_selected_action": [str(one.pk) for one in executions]}
    return client.post(reverse(LIST), chosen, follow=True)


def test_a_replay_is_an_act_of_the_person_and_its_outcome_is_told(root, dead) -> None:
    answer = act(root, "replay", dead)

    dead.refresh_from_db()
    assert dead.status == Status.SCHEDULED and dead.forgiven == 4
    assert AuditEvent.objects.get(action="replay").actor.username == "root"
    assert "Replayed 1 dead letter(s)." in answer.content.decode()


def test_a_discard_is_an_act_of_the_person_and_its_outcome_is_told(root, dead) -> None:
    answer = act(root, "discard", dead)

    dead.refresh_from_db()
    assert dead.status == Status.FAILED and dead.discarded_at
    assert AuditEvent.objects.get(action="discard").actor.username == "root"
    assert "Discarded 1 dead letter(s)." in answer.content.decode()


def test_what_is_no_dead_letter_is_passed_over_and_that_is_told(root, dead) -> None:
    waiting = services.run_job_now(dead.job, actor=None)

    answer = act(root, "replay", dead, waiting)

    assert "Replayed 1 dead letter(s)." in answer.content.decode()
    assert "1 of those chosen were passed over" in answer.content.decode()


def test_all_that_a_search_finds_can_be_replayed_at_once(root, dead) -> None:
    chosen = {"action": "replay", "_selected_action": [str(dead.pk)], "select_across": "1"}

    root.post(f"{reverse(LIST)}?q={dead.job_id}&status__exact=FAILED", chosen)

    dead.refresh_from_db()
    assert dead.status == Status.SCHEDULED


def test_who_may_change_executions_may_replay_and_still_not_edit_them(client, dead) -> None:
    person = staff(client, "view_execution", "change_execution")

    assert b'value="replay"' in person.get(reverse(LIST)).content
    assert person.post(reverse("admin:jobs_execution_change", args=[dead.pk]), {}).status_code == 403
    act(person, "replay", dead)

    dead.refresh_from_db()
    assert dead.status == Status.SCHEDULED


def test_who_may_only_look_is_not_offered_it_and_cannot_do_it(client, dead) -> None:
    person = staff(client, "view_execution")

    assert b'value="replay"' not in person.get(reverse(LIST)).content
    act(person, "replay", dead)
    act(person, "discard", dead)

    dead.refresh_from_db()
    assert dead.status == Status.FAILED and dead.discarded_at is None


def test_the_discarded_can_be_told_from_the_dead(root, dead) -> None:
    act(root, "discard", dead)

    assert b"0 executions" in root.get(reverse(LIST), {"discarded_at__isempty": "1"}).content
    assert b"1 execution" in root.get(reverse(LIST), {"discarded_at__isempty": "0"}).content
