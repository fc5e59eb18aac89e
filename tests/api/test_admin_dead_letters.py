"""Dead letters in the admin: by cause, replayed as they are or corrected, and discarded."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.services import register_admin
from jobs import dead_letters, services
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
def job(team):
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name="Hourly"), tenant=team, actor=None)


def die(job, error: str = "TimeoutError: no answer") -> Execution:
    execution = services.run_job_now(job, actor=None)
    Execution.objects.filter(pk=execution.pk).update(
        status=Status.FAILED, attempt=4, finished_at=timezone.now(), error=error, wake_at=None
    )
    dead_letters.name_causes(100)
    execution.refresh_from_db()
    return execution


@pytest.fixture
def dead(job) -> Execution:
    return die(job)


def choose(client, action: str, *executions: Execution):
    """Choose these in the list of executions, and say yes."""
    chosen = {"action": action, "_selected_action": [str(one.pk) for one in executions], "confirmed": "yes"}
    return client.post(reverse(LIST), chosen)


def act_on_cause(client, act: str, one: Execution, **more: str):
    asked = {"act": act, "cause": one.fingerprint, "task": one.task}
    return client.post(reverse("admin:act_on_letters"), asked | more)


def test_a_replay_is_an_act_of_the_person_and_its_outcome_is_told(root, dead) -> None:
    answer = choose(root, "replay", dead)

    dead.refresh_from_db()
    assert dead.status == Status.SCHEDULED and dead.forgiven == 4
    assert AuditEvent.objects.get(action="replay").actor.username == "root"
    assert "done for 1 of 1" in answer.content.decode()


def test_a_discard_is_an_act_of_the_person_and_its_outcome_is_told(root, dead) -> None:
    answer = choose(root, "discard", dead)

    dead.refresh_from_db()
    assert dead.status == Status.FAILED and dead.discarded_at
    assert AuditEvent.objects.get(action="discard").actor.username == "root"
    assert "done for 1 of 1" in answer.content.decode()


def test_what_is_no_dead_letter_is_passed_over_and_that_is_told(root, dead) -> None:
    waiting = services.run_job_now(dead.job, actor=None)

    answer = choose(root, "replay", dead, waiting)

    outcomes = {outcome.subject.pk: outcome for outcome, _ in answer.context["outcomes"]}
    assert outcomes[dead.pk].done
    assert not outcomes[waiting.pk].done and "no dead letter" in outcomes[waiting.pk].said


def test_a_letter_whose_job_has_ended_is_passed_over_and_that_is_told(root, dead) -> None:
    services.cancel_job(dead.job, actor=None)

    [(outcome, _)] = choose(root, "replay", dead).context["outcomes"]

    assert not outcome.done and "never runs again" in outcome.said


def test_dead_letters_are_grouped_by_what_went_wrong(root, job) -> None:
    for error in ("TimeoutError: no answer in 30 s", "TimeoutError: no answer in 31 s", "KeyError: 'x'"):
        die(job, error)

    page = root.get(reverse("admin:dead_letters"))

    assert [group.count for group in page.context["groups"]] == [2, 1]


def test_all_of_a_cause_are_replayed_at_once_and_others_are_left_alone(root, job) -> None:
    first, second = die(job, "TimeoutError: after 30 s"), die(job, "TimeoutError: after 31 s")
    other = die(job, "KeyError: 'x'")

    asked = act_on_cause(root, "replay", first)

    assert {one.pk for one in asked.context["chosen"]} == {first.pk, second.pk}
    assert Execution.objects.dead().count() == 3, "asking does nothing"

    done = act_on_cause(root, "replay", first, confirmed="yes")

    assert done.context["done"] == 2
    assert list(Execution.objects.dead()) == [other]


def test_those_of_a_cause_are_listed_and_some_of_them_can_be_chosen(root, job) -> None:
    first, second = die(job), die(job)
    page = root.get(reverse("admin:dead_letters"), {"cause": first.fingerprint, "task": first.task})

    assert [one.pk for one in page.context["letters"]] == [second.pk, first.pk]

    chosen = {"act": "discard", "_selected_action": [str(first.pk)], "_chosen_only": "1", "confirmed": "yes"}
    root.post(reverse("admin:act_on_letters"), chosen)

    assert list(Execution.objects.dead()) == [second]


def test_choosing_none_does_nothing(root, dead) -> None:
    page = act_on_cause(root, "discard", dead, _chosen_only="1")

    assert page.context["chosen"] == [] and Execution.objects.dead().count() == 1


def test_an_act_that_there_is_not_is_not_found(root, dead) -> None:
    assert act_on_cause(root, "explode", dead).status_code == 404


def test_a_letter_is_corrected_and_runs_again_with_what_it_was_given(root, dead) -> None:
    address = reverse("admin:jobs_execution_edit_and_replay", args=[dead.pk])
    assert "alice@example.com" in root.get(address).content.decode()

    answer = root.post(address, {"payload": json.dumps(MAIL | {"subject": "Better"})})

    dead.refresh_from_db()
    assert answer.status_code == 302 and dead.status == Status.SCHEDULED
    assert dead.payload["subject"] == "Better" and dead.job.payload["subject"] == "Hello"


def test_a_correction_that_does_not_fit_is_refused_by_part(root, dead) -> None:
    address = reverse("admin:jobs_execution_edit_and_replay", args=[dead.pk])

    answer = root.post(address, {"payload": json.dumps({"to": "alice@example.com", "body": "x"})})

    dead.refresh_from_db()
    assert answer.status_code == 200 and dead.status == Status.FAILED
    assert answer.context["form"].fields["payload"].widget.faults == {"subject": "is missing."}


def test_the_address_of_an_act_that_is_opened_by_itself_leads_back_to_the_list(root) -> None:
    assert root.get(reverse("admin:act_on_letters")).headers["Location"] == reverse("admin:dead_letters")
