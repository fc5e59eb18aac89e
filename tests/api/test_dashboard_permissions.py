"""On the dashboard, as in the admin, staff see and do for other tenants what their permissions say."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from accounts.groups import OPERATORS, VIEWERS
from accounts.models import User
from jobs import services
from jobs.dashboard.viewer import SEE_ALL
from jobs.models import Execution, Job
from jobs.services import NewJob
from jobs.states import JobStatus, Status
from jobs.stats.snapshot import snapshots
from tests.staff import staff_of

pytestmark = pytest.mark.django_db

SECRETIVE = {"to": "alice@example.com", "subject": "Confidential figures", "body": "…"}
HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    snapshots.forget()


@pytest.fixture
def job(team) -> Job:
    return services.create_job(NewJob("send_email", SECRETIVE, HOURLY, name="Confidential"), tenant=team, actor=None)


@pytest.fixture
def dead(job) -> Execution:
    execution = services.run_job_now(job, actor=None)
    Execution.objects.filter(pk=execution.pk).update(
        status=Status.FAILED,
        attempt=4,
        finished_at=timezone.now(),
        fingerprint="f00d",
        error="Confidential",
        wake_at=None,
    )
    return Execution.objects.get(pk=execution.pk)


@pytest.fixture
def pages(job, dead) -> list[str]:
    return ["/", "/jobs", "/executions", "/dead-letters", "/keys", f"/jobs/{job.pk}", f"/executions/{dead.pk}"]


def looking_at_all(user: User) -> Client:
    client = Client()
    client.force_login(user)
    client.post("/tenant", {"tenant": "all"})
    session = client.session
    session["tenant"] = "all"  # chosen while it was still allowed
    session.save()
    return client


def shown(client: Client, pages: list[str]) -> set[str]:
    answers = {page: client.get(page) for page in pages}
    assert {answer.status_code for answer in answers.values()} <= {200, 403, 404}
    return {page for page, answer in answers.items() if "Confidential" in answer.content.decode()}


def test_staff_without_permissions_see_no_other_tenant(charlie, pages) -> None:
    client = looking_at_all(staff_of(charlie))

    assert shown(client, pages) == set()
    assert "All tenants" not in client.get("/").content.decode()


def test_staff_without_a_tenant_or_permissions_see_nothing(pages) -> None:
    assert shown(looking_at_all(User.objects.create_user("temp", is_staff=True)), pages) == set()


@pytest.mark.parametrize("missing", SEE_ALL)
def test_each_permission_to_look_is_needed_to_see_all_tenants(charlie, pages, missing) -> None:
    staff = staff_of(charlie)
    names = [one.partition(".")[2] for one in SEE_ALL if one != missing]
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs", codename__in=names))

    assert shown(looking_at_all(staff), pages) == set()


def test_permissions_without_staff_status_show_no_other_tenant(charlie, pages) -> None:
    staff_of(charlie, VIEWERS)
    User.objects.filter(pk=charlie.pk).update(is_staff=False)

    assert shown(looking_at_all(User.objects.get(pk=charlie.pk)), pages) == set()


def test_staff_who_may_look_see_all_tenants(charlie, pages, job, dead) -> None:
    seen = shown(looking_at_all(staff_of(charlie, VIEWERS)), pages)

    assert seen >= {"/jobs", "/dead-letters", f"/jobs/{job.pk}", f"/executions/{dead.pk}"}


@pytest.mark.parametrize(("group", "status"), [(VIEWERS, 403), (OPERATORS, 302)])
def test_staff_act_for_other_tenants_only_as_operators(charlie, job, dead, group, status) -> None:
    client = looking_at_all(staff_of(charlie, group))

    assert client.post(f"/jobs/{job.pk}/pause").status_code == status
    assert client.post(f"/executions/{dead.pk}/replay").status_code == status
    job.refresh_from_db()
    dead.refresh_from_db()
    acted = status == 302
    assert (job.status == JobStatus.PAUSED) is acted and (dead.status == Status.SCHEDULED) is acted


def test_staff_without_permissions_act_for_no_other_tenant(charlie, job, dead) -> None:
    client = looking_at_all(staff_of(charlie))

    assert client.post(f"/jobs/{job.pk}/pause").status_code == 404
    assert client.post(f"/executions/{dead.pk}/replay").status_code == 404
    client.post("/dead-letters/act", {"act": "discard", "fingerprint": dead.fingerprint, "task": dead.task})
    dead.refresh_from_db()
    assert dead.status == Status.FAILED and dead.discarded_at is None
