"""Quotas: what a tenant may have, wherever it is asked for."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from accounts import inviting, keys, teams
from accounts.models import Tenant, User
from accounts.quota import QuotaExceeded
from execution import worker_keys
from execution.models import Upload
from execution.uploads import save_upload
from jobs import quotas, services
from jobs.alerts import rules
from jobs.backfill import backfill
from jobs.clock import database_now
from jobs.models import AuditEvent, Execution, Job
from jobs.services import NewJob
from jobs.states import Status
from tests.conftest import client_of
from tests.engine.system import together
from tests.pictures import picture

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
LATER = {"type": "once", "run_at": "2090-01-01T00:00:00Z"}


def mail(**job):
    return {"task": "send_email", "payload": MAIL, "schedule": LATER} | job


@pytest.fixture(autouse=True)
def no_midnight(monkeypatch) -> None:
    """Days that begin twelve hours before the test: none ends while it runs."""
    origin = database_now() - quotas.DAY / 2
    monkeypatch.setattr(quotas, "_today", lambda now: origin + (now - origin) // quotas.DAY * quotas.DAY)


@pytest.fixture
def quota(team):
    """Give Alice's tenant quotas; the API's tenant is read anew by each request."""

    def give(**limits: int) -> None:
        Tenant.objects.filter(pk=team.pk).update(**limits)
        team.refresh_from_db()

    return give


@pytest.fixture
def recorded(team):
    """Record executions due now."""

    def record(count: int, **fields) -> None:
        now = database_now()
        job = Job.objects.create(tenant=team, task="send_email", status="FINISHED")
        Execution.objects.bulk_create(
            Execution(
                id=services.ledger.NewExecution(job.id, team.id, "send_email", 5, now + n * datetime.resolution).id,
                job=job,
                tenant=team,
                task="send_email",
                priority=5,
                due_at=now,
                not_before=now,
                recorded_at=now,
                **{"status": Status.COMPLETED} | fields,
            )
            for n in range(count)
        )

    return record


def test_a_job_beyond_the_quota_is_refused_with_limit_use_and_remedy(api, quota) -> None:
    quota(max_active_jobs=2)
    first = [api.post("/api/v1/jobs", mail()) for _ in range(2)]

    answer = api.post("/api/v1/jobs", mail())

    assert [one.status_code for one in first] == [201, 201]
    assert answer.status_code == 403 and answer["Content-Type"] == "application/problem+json"
    assert answer.json()["quota"] == {"name": "active_jobs", "limit": 2, "used": 2, "wanted": 1}
    assert "Pause, cancel or delete" in answer.json()["detail"]
    assert Job.objects.count() == 2


def test_of_many_those_that_fit_are_made_and_the_rest_is_told(api, quota) -> None:
    quota(max_active_jobs=3)
    api.post("/api/v1/jobs", mail())

    answer = api.post("/api/v1/jobs/bulk", {"jobs": [mail(), mail(task="nonsense"), mail(), mail(), mail()]}).json()

    assert [one["status"] for one in answer["results"]] == ["created", "invalid", "created", "invalid", "invalid"]
    assert list(answer["results"][3]["errors"]) == ["active_jobs"]
    assert Job.objects.count() == 3


def test_a_job_that_was_paused_cancelled_or_deleted_makes_room(api, quota) -> None:
    quota(max_active_jobs=1)
    for act in ("pause", "cancel", "delete"):
        made = api.post("/api/v1/jobs", mail())
        assert made.status_code == 201
        path = f"/api/v1/jobs/{made.json()['id']}"
        _ = api.delete(path) if act == "delete" else api.post(f"{path}/{act}")

    assert api.post("/api/v1/jobs", mail()).status_code == 201


def test_a_job_becomes_active_again_only_where_there_is_room(api, quota) -> None:
    quota(max_active_jobs=1)
    path = f"/api/v1/jobs/{api.post('/api/v1/jobs', mail()).json()['id']}"
    api.post(f"{path}/pause")
    other = api.post("/api/v1/jobs", mail()).json()["id"]

    assert api.post(f"{path}/resume").status_code == 403
    assert api.get(path).json()["status"] == "PAUSED"
    api.delete(f"/api/v1/jobs/{other}")
    assert api.post(f"{path}/resume").status_code == 200


def test_of_many_that_are_resumed_those_that_fit_are(api, quota) -> None:
    ids = [api.post("/api/v1/jobs", mail()).json()["id"] for _ in range(3)]
    api.post("/api/v1/jobs/bulk/pause", {"ids": ids})
    quota(max_active_jobs=2)

    answer = api.post("/api/v1/jobs/bulk/resume", {"ids": ids}).json()

    assert [one["status"] for one in answer["results"]] == ["ok", "ok", "refused"]
    assert "The quota of active jobs is 2" in answer["results"][2]["reason"]


@pytest.mark.django_db(transaction=True)
def test_of_those_who_take_the_last_places_at_once_only_so_many_do(quota, team, alice) -> None:
    quota(max_active_jobs=3)
    refused: list[QuotaExceeded] = []

    def create() -> None:
        try:
            services.create_job(NewJob("send_email", MAIL, LATER), tenant=team, actor=alice)
        except QuotaExceeded as error:
            refused.append(error)

    together(create, count=8)

    assert len(refused) == 5 and Job.objects.count() == 3


def test_a_payload_beyond_the_quota_is_refused_at_creation_and_at_a_change(api, quota) -> None:
    quota(max_payload_bytes=200)
    made = api.post("/api/v1/jobs", mail())
    large = MAIL | {"body": "x" * 200}

    for answer in (
        api.post("/api/v1/jobs", mail(payload=large)),
        api.patch(f"/api/v1/jobs/{made.json()['id']}", {"payload": large}),
    ):
        assert answer.status_code == 403
        assert answer.json()["quota"]["name"] == "payload_bytes" and answer.json()["quota"]["limit"] == 200
    [among] = api.post("/api/v1/jobs/bulk", {"jobs": [mail(payload=large)]}).json()["results"]
    assert list(among["errors"]) == ["payload_bytes"]
    assert Job.objects.count() == 1


def test_runs_by_hand_beyond_the_days_are_refused_until_it_is_over(api, quota, recorded) -> None:
    job = api.post("/api/v1/jobs", mail()).json()["id"]
    quota(max_executions_a_day=3)
    recorded(2)

    assert api.post(f"/api/v1/jobs/{job}/run").status_code == 202
    answer = api.post(f"/api/v1/jobs/{job}/run")

    assert answer.status_code == 429 and 0 < int(answer["Retry-After"]) <= 86_401
    assert answer.json()["quota"] == {"name": "executions_a_day", "limit": 3, "used": 3, "wanted": 1}
    assert Execution.objects.count() == 3


def test_a_new_job_that_is_due_today_needs_a_run_and_another_does_not(api, quota, recorded) -> None:
    quota(max_executions_a_day=2)
    recorded(1)

    assert api.post("/api/v1/jobs", mail(schedule={"type": "now"})).status_code == 201
    assert api.post("/api/v1/jobs", mail(schedule={"type": "now"})).status_code == 429
    assert api.post("/api/v1/jobs", mail()).status_code == 201


def test_what_was_skipped_or_ran_on_another_day_is_not_counted(team, quota, recorded) -> None:
    quota(max_executions_a_day=1)
    recorded(3, status=Status.SKIPPED)

    quotas.Room(team).take_runs(1, now=database_now())
    recorded(1)

    with pytest.raises(QuotaExceeded):
        quotas.Room(team).take_runs(1, now=database_now())
    quotas.Room(team).take_runs(1, now=database_now() + timedelta(days=1))


def test_replays_are_no_way_around_the_quota_of_a_day(client, api, alice, quota, recorded) -> None:
    dead = {"status": Status.FAILED, "finished_at": database_now(), "fingerprint": "0" * 16}
    recorded(3, **dead)
    Job.objects.update(status="ACTIVE")
    ids = [str(pk) for pk in Execution.objects.values_list("pk", flat=True)]
    quota(max_executions_a_day=5)

    assert api.post("/api/v1/dead-letters/replay", {"executions": ids}).status_code == 429
    assert Execution.objects.dead().count() == 3
    for pk in ids[:2]:
        assert api.post(f"/api/v1/executions/{pk}/retry").status_code == 200
        Execution.objects.filter(pk=pk).update(**dead)
    answer = api.post(f"/api/v1/executions/{ids[0]}/retry")

    assert answer.status_code == 429 and answer.json()["quota"]["used"] == 5
    client.force_login(alice)
    of_cause = {"task": "send_email", "fingerprint": dead["fingerprint"], "act": "replay"}
    for path, body in ((f"/executions/{ids[0]}/replay", {}), ("/dead-letters/act", of_cause)):
        page = client.post(path, body, follow=True).content.decode()
        assert "quota of executions a day is 5" in page
    client.force_login(User.objects.create_superuser("root", "root@example.com", "correct horse battery"))
    acted = {"action": "replay", "_selected_action": ids, "confirmed": "yes"}
    assert (
        "quota of executions a day is 5" in client.post("/admin/jobs/execution/", acted, follow=True).content.decode()
    )
    assert Execution.objects.dead().count() == 3


def test_a_replay_that_reaches_the_quota_of_a_day_says_what_it_did(
    client, api, alice, quota, recorded, monkeypatch
) -> None:
    monkeypatch.setattr("jobs.dead_letters.CHUNK", 2)
    recorded(5, status=Status.FAILED, finished_at=database_now(), fingerprint="0" * 16)
    Job.objects.update(status="ACTIVE")
    quota(max_executions_a_day=8)
    wanted = {"filter": {"task": "send_email"}}

    assert api.post("/api/v1/dead-letters/replay", wanted).json() == {"count": 2, "more": True}
    assert api.post("/api/v1/dead-letters/replay", wanted).status_code == 429
    quota(max_executions_a_day=9)
    client.force_login(alice)
    body = {"task": "send_email", "fingerprint": "0" * 16, "act": "replay"}
    told = client.post("/dead-letters/act", body, follow=True).content.decode()

    assert "Replayed 2. 1 not replayed" in told and "quota" in told
    assert Execution.objects.dead().count() == 1


def test_backfills_of_past_days_count_as_of_the_day_they_are_asked_for(team, alice, quota) -> None:
    now = database_now()
    schedule = {"type": "interval", "seconds": 3600, "start_at": (now - 9 * quotas.DAY).isoformat()}
    jobs = [services.create_job(NewJob("send_email", MAIL, schedule), tenant=team, actor=None) for _ in range(2)]
    AuditEvent.objects.update(at=now - 9 * quotas.DAY)
    Job.objects.update(created_at=now - 9 * quotas.DAY, next_run_at=now + quotas.DAY)
    quota(max_executions_a_day=5)
    window = {"start": now - 3 * quotas.DAY, "end": now - 3 * quotas.DAY + timedelta(hours=4), "actor": alice}

    assert len(backfill(jobs[0], **window).due_times) == 4
    with pytest.raises(QuotaExceeded, match="4 used, 4 more wanted"):
        backfill(jobs[1], **window)


@override_settings(MAX_ACTIVE_JOBS=1)
def test_the_setting_counts_where_the_tenant_says_nothing_and_zero_is_no_quota(api, quota) -> None:
    assert [api.post("/api/v1/jobs", mail()).status_code for _ in range(2)] == [201, 403]

    quota(max_active_jobs=0)

    assert api.post("/api/v1/jobs", mail()).status_code == 201


def test_another_tenants_jobs_are_not_counted(api, quota, charlie) -> None:
    quota(max_active_jobs=1)

    assert [client_of(charlie).post("/api/v1/jobs", mail()).status_code for _ in range(3)] == [201] * 3
    assert api.post("/api/v1/jobs", mail()).status_code == 201


def test_without_a_quota_nothing_is_asked_and_with_one_nothing_grows(team, alice, quota) -> None:
    def statements(schedule: dict = LATER) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            services.create_job(NewJob("send_email", MAIL, schedule), tenant=team, actor=alice)
        return [one["sql"] for one in queries.captured_queries]

    before = statements()
    quota(max_active_jobs=50, max_executions_a_day=50)
    soon = {"type": "now"}
    counted = [sql for sql in statements(soon) if "COUNT" in sql]

    assert not [sql for sql in before if "COUNT" in sql or "accounts_tenant" in sql]
    assert len(counted) == 3 and all("LIMIT 51" in sql for sql in counted)
    assert not [sql for sql in counted if "recorded_at" in sql]  # which no index has


def test_the_admin_is_told_instead_of_failing(client, alice, team, quota) -> None:
    quota(max_active_jobs=1)
    services.create_job(NewJob("send_email", MAIL, LATER), tenant=team, actor=alice)
    alice.is_staff = alice.is_superuser = True
    alice.save()
    client.force_login(alice)
    form = {
        "name": "",
        "tenant": str(team.pk),
        "task": "send_email",
        "payload": '{"to": "a@example.com", "subject": "s", "body": "b"}',
        "schedule": '{"type": "once", "run_at": "2090-01-01T00:00:00Z"}',
        "priority": "5",
    }

    answer = client.post("/admin/jobs/job/add/", form, follow=True)

    assert "The quota of active jobs is 1" in answer.content.decode()
    assert Job.objects.count() == 1


@pytest.mark.parametrize("schedule", [{"type": "now"}, {"type": "interval", "seconds": 1}])
def test_changing_a_job_is_no_way_around_the_quota_of_a_day(api, quota, schedule) -> None:
    job = api.post("/api/v1/jobs", mail()).json()
    quota(max_executions_a_day=2)

    statuses = []
    for _ in range(4):
        statuses.append(api.patch(f"/api/v1/jobs/{job['id']}", {"schedule": schedule}).status_code)
        one = Job.objects.get()
        if one.next_run_at is not None:  # as a poller does
            Job.objects.filter(pk=one.pk).update(next_run_at=None)
            services.run_job_now(one, actor=None)

    assert statuses == [200, 200, 429, 429] and Execution.objects.count() == 2


def test_a_change_that_adds_no_run_today_needs_no_room(api, quota) -> None:
    job = api.post("/api/v1/jobs", mail(schedule={"type": "interval", "seconds": 60})).json()
    quota(max_executions_a_day=1)

    assert api.patch(f"/api/v1/jobs/{job['id']}", {"schedule": {"type": "interval", "seconds": 90}}).status_code == 200
    assert api.patch(f"/api/v1/jobs/{job['id']}", {"name": "renamed"}).status_code == 200
    assert api.patch(f"/api/v1/jobs/{job['id']}", {"schedule": LATER}).status_code == 200


LAST_PLACES = {
    "jobs": lambda team, alice: services.create_job(NewJob("send_email", MAIL, LATER), tenant=team, actor=alice),
    "tenants": lambda team, alice: teams.create_tenant(name="another", owner=alice),
    "keys": lambda team, alice: keys.create_key(tenant=team, creator=alice, name="CI", scopes=["read"]),
    "worker keys": lambda team, alice: worker_keys.make_worker_key(["resize_video"], tenant=team, owner=alice),
    "invitations": lambda team, alice: inviting.invite(
        alice.memberships.get(tenant=team), email="dora@example.com", role="member", link=lambda token: token
    ),
    "alert rules": lambda team, alice: rules.create_rule(
        {"name": "told", "channel": "email", "emails": ["a@example.com"]}, tenant=team, actor=alice
    ),
    "uploads": lambda team, alice: save_upload(team.pk, b"x"),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", LAST_PLACES)
def test_of_many_who_want_the_last_place_at_once_one_gets_it(team, alice, monkeypatch, settings, kind) -> None:
    settings.MAX_ACTIVE_JOBS = settings.UPLOAD_QUOTA_FILES = 1
    settings.INVITATION_RATE_PER_RECIPIENT = 100
    settings.TENANTS_PER_USER = 2  # with the personal one
    limits = {keys: "MOST_KEYS", worker_keys: "MAX_KEYS", inviting: "MOST_OPEN", rules: "MOST_RULES"}
    for module, name in limits.items():
        monkeypatch.setattr(module, name, 1)
    outcomes: list[bool] = []

    def take() -> None:
        try:
            LAST_PLACES[kind](team, alice)
            outcomes.append(True)
        except QuotaExceeded:
            outcomes.append(False)

    together(take, count=8)

    assert sorted(outcomes) == [*[False] * 7, True]


def test_uploads_have_a_quota_of_files_and_of_bytes(api, team, charlie, settings) -> None:
    settings.UPLOAD_QUOTA_BYTES, settings.UPLOAD_QUOTA_FILES = 10, 3
    save_upload(team.pk, b"x" * 6)

    with pytest.raises(QuotaExceeded, match="upload bytes is 10; 6 used, 5 more wanted"):
        save_upload(team.pk, b"x" * 5)
    save_upload(team.pk, b"x" * 5, made=True)  # a task of ours goes on
    with pytest.raises(QuotaExceeded, match="upload bytes is 10; 5 used, 6 more wanted"):
        save_upload(team.pk, b"x" * 6, made=True)  # but not for ever
    Upload.objects.update(size=0)
    save_upload(team.pk, b"x")
    save_upload(team.pk, b"x")
    with pytest.raises(QuotaExceeded, match="uploads is 3"):
        save_upload(team.pk, b"x")
    save_upload(charlie.tenants.get().pk, b"x")
    answer = api.post("/api/v1/images", {"file": SimpleUploadedFile("a.png", picture())}, format="multipart")
    assert answer.status_code == 403 and answer.json()["quota"]["name"] == "uploads"
    assert not Job.objects.exists()
