"""To look, to operate, to administer: who may do what in the admin, on every page and for every act."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.groups import ADMINISTRATORS, OPERATORS, VIEWERS
from accounts.models import User
from jobs import services
from jobs.models import Execution, Job
from jobs.services import NewJob
from jobs.states import JobStatus, Status

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
PAGES = [
    *("jobs_job_changelist", "jobs_execution_changelist", "jobs_attempt_changelist", "jobs_auditevent_changelist"),
    *("jobs_incident_changelist", "jobs_alertrule_changelist"),
    *("dead_letters", "calendar", "workers"),
]


@pytest.fixture
def job(team) -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name="Hourly"), tenant=team, actor=None)


@pytest.fixture
def dead(job) -> Execution:
    execution = services.run_job_now(job, actor=None)
    Execution.objects.filter(pk=execution.pk).update(
        status=Status.FAILED, attempt=4, finished_at=timezone.now(), fingerprint="f00d", wake_at=None
    )
    execution.refresh_from_db()
    return execution


def member(*groups: str) -> Client:
    """A client of somebody who may enter the admin as one of these."""
    call_command("make_admin_groups", verbosity=0)
    user = User.objects.create_user("somebody", is_staff=True)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def all_acts(client, job: Job, dead: Execution) -> dict[str, int]:
    """What each act is answered with."""
    asked = {}
    for name in ("run", "pause", "resume", "cancel"):
        address = reverse("admin:jobs_job_act", args=[job.pk, name])
        asked[f"job {name}"] = client.post(address).status_code
        asked[f"look at job {name}"] = client.get(address).status_code
    for name in ("replay", "discard", "cancel"):
        asked[f"execution {name}"] = client.post(reverse("admin:jobs_execution_act", args=[dead.pk, name])).status_code
    asked["backfill"] = client.get(reverse("admin:jobs_job_backfill", args=[job.pk])).status_code
    edited = reverse("admin:jobs_execution_edit_and_replay", args=[dead.pk])
    asked["edit and replay"] = client.post(edited, {"payload": json.dumps(MAIL)}).status_code
    letters = {"act": "replay", "cause": dead.fingerprint, "task": dead.task, "confirmed": "yes"}
    asked["letters"] = client.post(reverse("admin:act_on_letters"), letters).status_code
    return asked


def test_the_groups_can_be_made_again_and_have_each_what_the_one_before_has(db) -> None:
    call_command("make_admin_groups", verbosity=0)
    Group.objects.get(name=VIEWERS).permissions.clear()
    call_command("make_admin_groups", verbosity=0)

    look, operate, administer = (
        set(Group.objects.get(name=name).permissions.values_list("codename", flat=True))
        for name in (VIEWERS, OPERATORS, ADMINISTRATORS)
    )
    assert look and look < operate < administer
    assert not any(name.startswith(("add", "change", "delete", "operate")) for name in look)
    assert "change_user" not in administer, "whoever may change users could make themselves anything"


def test_no_filter_of_a_list_reveals_what_its_pages_hide(job, dead) -> None:
    Execution.objects.filter(pk=dead.pk).update(result={"token": "s3cret"})
    client = member(VIEWERS)

    for lookup in ("result__token__startswith", "result__icontains", "job__payload__to__startswith"):
        assert client.get("/admin/jobs/execution/", {lookup: "s"}).status_code == 400
    assert str(dead.pk) in client.get("/admin/jobs/execution/", {"job__id__exact": str(job.pk)}).content.decode()


def test_who_may_only_add_jobs_reads_none_by_copying_it(job) -> None:
    adder = User.objects.create_user("adder", is_staff=True)
    adder.user_permissions.add(Permission.objects.get(codename="add_job"))
    client = Client()
    client.force_login(adder)

    page = client.get("/admin/jobs/job/add/", {"copy": str(job.pk)})

    assert page.status_code == 200 and "Hourly" not in page.content.decode()


@pytest.mark.parametrize("group", [VIEWERS, OPERATORS, ADMINISTRATORS])
def test_everybody_who_may_look_sees_every_page(job, dead, group) -> None:
    client = member(group)

    assert {client.get(reverse(f"admin:{name}")).status_code for name in PAGES} == {200}
    assert client.get(reverse("admin:jobs_job_change", args=[job.pk])).status_code == 200
    assert client.get(reverse("admin:jobs_execution_change", args=[dead.pk])).status_code == 200


def test_staff_of_no_group_see_nothing_and_do_nothing(job, dead) -> None:
    client = member()

    assert {client.get(reverse(f"admin:{name}")).status_code for name in PAGES} == {403}
    assert client.post(reverse("admin:jobs_job_preview"), {"schedule": "{}"}).status_code == 403
    assert client.get(reverse("admin:jobs_job_load")).status_code == 403
    assert set(all_acts(client, job, dead).values()) == {403}
    assert client.get(reverse("admin:index")).status_code == 200


def test_who_is_not_of_the_staff_is_sent_to_sign_in(client, alice, job, dead) -> None:
    client.force_login(alice)

    answers = [client.get(reverse(f"admin:{name}")) for name in PAGES]

    assert {answer.status_code for answer in answers} == {302}
    assert all("/login/" in answer.url for answer in answers)
    assert set(all_acts(client, job, dead).values()) == {302}
    job.refresh_from_db()
    assert job.status == JobStatus.ACTIVE


def test_viewers_are_offered_no_act_and_can_do_none(job, dead) -> None:
    client = member(VIEWERS)
    before = (job.version, dead.status)

    assert set(all_acts(client, job, dead).values()) == {403}
    chosen = {"action": "pause", "_selected_action": [str(job.pk)], "confirmed": "yes"}
    client.post(reverse("admin:jobs_job_changelist"), chosen)
    page = client.get(reverse("admin:jobs_job_change", args=[job.pk]))

    job.refresh_from_db()
    dead.refresh_from_db()
    assert (job.version, dead.status) == before
    assert page.context["acts"] == [] and b"Backfill" not in page.content and b"Duplicate" not in page.content
    assert b'value="pause"' not in client.get(reverse("admin:jobs_job_changelist")).content
    assert b"Replay" not in client.get(reverse("admin:dead_letters")).content


def test_operators_act_and_cannot_change_what_a_job_is(job, dead) -> None:
    client = member(OPERATORS)
    address = reverse("admin:jobs_job_change", args=[job.pk])

    assert client.post(address, {"name": "Mine"}).status_code == 403
    assert client.get(reverse("admin:jobs_job_add")).status_code == 403
    assert client.post(reverse("admin:jobs_job_delete", args=[job.pk]), {"post": "yes"}).status_code == 403
    assert b"alice@example.com" in client.get(address).content, "they see the definition, without a form"
    assert set(all_acts(client, job, dead).values()) <= {200, 302}

    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED and job.name == "Hourly"


def test_administrators_make_change_and_delete_jobs(job, team) -> None:
    client = member(ADMINISTRATORS)
    made = {"name": "New", "tenant": str(team.pk), "task": "send_email", "payload": json.dumps(MAIL), "priority": "5"}

    assert client.post(reverse("admin:jobs_job_add"), made | {"schedule": json.dumps(HOURLY)}).status_code == 302
    assert client.post(reverse("admin:jobs_job_delete", args=[job.pk]), {"post": "yes"}).status_code == 302
    assert [one.name for one in Job.objects.kept()] == ["New"]
    assert client.get(reverse("admin:accounts_user_changelist")).status_code == 200
    assert client.get(reverse("admin:accounts_user_add")).status_code == 403


def test_the_sidebar_offers_what_one_may_see(job) -> None:
    page = member(VIEWERS).get(reverse("admin:jobs_job_changelist")).content.decode()

    assert reverse("admin:dead_letters") in page and reverse("admin:calendar") in page
    assert reverse("admin:accounts_user_changelist") not in page
