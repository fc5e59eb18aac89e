"""The admin's lists ask the same few questions however much is stored, and none that counts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.services import register_admin
from jobs import services
from jobs.ids import execution_id
from jobs.models import Attempt, Execution
from jobs.services import NewJob
from jobs.states import Status

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
SESSION = 2  # queries of every page: the session, and its user
LISTS = {  # queries besides
    ("jobs_job_changelist", ""): 1,
    ("jobs_job_changelist", "status__exact=PAUSED"): 2,  # the other one: how far it looks
    ("jobs_job_changelist", "q=unheard+of"): 2,
    ("jobs_execution_changelist", ""): 1,
    ("jobs_execution_changelist", "after=ffffffff-ffff-8fff-bfff-ffffffffffff"): 1,
    ("jobs_execution_changelist", "status__exact=FAILED"): 2,
    ("jobs_execution_changelist", "status__exact=FAILED&task=send_email&cause=schedule"): 2,
    ("jobs_attempt_changelist", ""): 1,
    ("jobs_auditevent_changelist", ""): 1,
    ("jobs_auditevent_changelist", "action__exact=create"): 2,
}


@pytest.fixture
def root(client):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


def store(team, count: int) -> None:
    """So many jobs, each with a failed execution and an attempt."""
    wanted = [NewJob("send_email", MAIL, HOURLY, name=f"Job {number}") for number in range(count)]
    jobs = services.create_jobs(wanted, tenant=team, actor=None)
    due = timezone.now() - timedelta(hours=1)
    alike = {"tenant": team, "task": "send_email", "priority": 5, "status": Status.FAILED, "due_at": due}
    alike |= {"not_before": due, "recorded_at": due, "finished_at": due, "error": "451", "fingerprint": "f00d"}
    executions = [Execution(id=execution_id(job.id, due, "schedule"), job=job, **alike) for job in jobs]
    Execution.objects.bulk_create(executions)
    attempts = [Attempt(execution=one, number=1, outcome="FAILED", error="451", finished_at=due) for one in executions]
    Attempt.objects.bulk_create(attempts)


def asked(client, address: str) -> list[str]:
    client.get(address)  # what is asked once in the life of a process is no part of it
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in captured]


@pytest.mark.parametrize(("name", "query"), LISTS)
def test_a_list_asks_the_same_few_questions_however_much_is_stored(root, team, name, query) -> None:
    address = f"{reverse(f'admin:{name}')}?{query}"
    store(team, 2)
    few = asked(root, address)
    store(team, 60)
    many = asked(root, address)

    assert len(few) == len(many) == SESSION + LISTS[name, query], "\n".join(many)
    assert not [sql for sql in many if "COUNT(" in sql.upper()], "\n".join(many)
    unbounded = [sql for sql in many if '"jobs_' in sql and "LIMIT" not in sql.upper()]
    assert not unbounded, "\n".join(unbounded)


@pytest.mark.parametrize("name", ["dead_letters", "workers"])
def test_a_page_asks_the_same_few_questions_however_much_is_stored(root, team, name) -> None:
    store(team, 2)
    few = asked(root, reverse(f"admin:{name}"))
    store(team, 60)

    assert len(asked(root, reverse(f"admin:{name}"))) == len(few) <= SESSION + 3


def test_the_page_of_a_job_asks_the_same_few_questions_however_long_its_history(root, team) -> None:
    store(team, 1)
    job = Execution.objects.get().job
    address = reverse("admin:jobs_job_change", args=[job.pk])
    few = asked(root, address)
    for _ in range(70):
        services.run_job_now(job, actor=None)

    many = asked(root, address)

    assert len(many) == len(few) == SESSION + 3, "\n".join([*few, "", *many])
    assert not [sql for sql in many if "COUNT(" in sql.upper()]
