"""The pages: who sees what, what they do, and what a browser may load for them."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, Membership, Tenant, User
from jobs.models import AuditEvent, Execution, Job, LogLine, Progress
from jobs.states import JobStatus, Status
from jobs.stats.snapshot import snapshots
from tests.alerting import Watched, due_at
from tests.api.test_stats import job_of, run_of
from tests.conftest import PASSWORD

HTML = {"accept": "text/html"}


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    snapshots.forget()


def browser_of(user: User | None) -> Client:
    client = Client(headers=HTML)
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def job(team: Tenant) -> Job:
    return job_of(team, "Nightly <report>")


@pytest.fixture
def dead(job: Job) -> Execution:
    return run_of(job, timezone.now(), Status.FAILED, error="the printer is on fire", fingerprint="fire")


def test_every_page_is_drawn_under_a_strict_policy_and_nothing_inline(alice: User, job: Job, dead: Execution) -> None:
    client = browser_of(alice)

    for path in ("/", "/?span=24h", "/jobs", "/executions", f"/jobs/{job.pk}", f"/executions/{dead.pk}"):
        answer = client.get(path)
        page = answer.content.decode()
        assert answer.status_code == 200, path
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=", page), path
        assert "Nightly &lt;report&gt;" in page and "<report>" not in page
    assert "the printer is on fire" in client.get("/dead-letters").content.decode()


def test_a_page_that_has_not_changed_is_not_sent_again(alice: User, job: Job) -> None:
    client = browser_of(alice)
    first = client.get("/?live")

    again = client.get("/?live", headers={"if-none-match": first.headers["ETag"]})

    assert "<html" not in first.content.decode() and again.status_code == 304 and not again.content


def test_strangers_are_sent_to_sign_in_and_back(db: None, job: Job) -> None:
    stranger = browser_of(None)

    assert stranger.get(f"/jobs/{job.pk}").headers["Location"] == f"/sign-in?next=%2Fjobs%2F{job.pk}"
    assert stranger.get("/?live").status_code == 401
    assert stranger.post(f"/jobs/{job.pk}/pause").status_code == 302
    job.refresh_from_db()
    assert job.status == JobStatus.ACTIVE


def test_charlie_sees_and_changes_nothing_of_alices(charlie: User, job: Job, dead: Execution) -> None:
    client = browser_of(charlie)

    for path in ("/", "/jobs", "/executions", "/dead-letters"):
        assert "Nightly" not in client.get(path).content.decode()
    for path in (f"/jobs/{job.pk}", f"/executions/{dead.pk}", f"/jobs/{uuid4()}"):
        assert client.get(path).status_code == 404
    for path in (f"/jobs/{job.pk}/pause", f"/executions/{dead.pk}/replay", f"/executions/{dead.pk}/replay-edited"):
        assert client.post(path).status_code == 404
    client.post("/dead-letters/act", {"fingerprint": "fire", "task": dead.task, "act": "discard"})
    dead.refresh_from_db()
    assert dead.discarded_at is None


def test_buttons_act_through_the_services_and_are_written_down(alice: User, job: Job) -> None:
    client = browser_of(alice)

    for act, action in (("pause", "pause"), ("resume", "resume"), ("run", "run_now"), ("cancel", "cancel")):
        answer = client.post(f"/jobs/{job.pk}/{act}", follow=True)
        assert answer.status_code == 200 and "message success" in answer.content.decode()
        event = AuditEvent.objects.first()
        assert (event.action, event.actor) == (action, alice)
    assert "cannot" in client.post(f"/jobs/{job.pk}/pause", follow=True).content.decode()


def test_those_who_may_only_look_are_told_so(bob: User, team: Tenant, job: Job) -> None:
    Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)
    client = browser_of(bob)
    client.post("/tenant", {"tenant": team.pk})

    page = client.get(f"/jobs/{job.pk}").content.decode()

    assert "Run now" not in page and "Nightly" in page
    assert client.post(f"/jobs/{job.pk}/pause").status_code == 403
    job.refresh_from_db()
    assert job.status == JobStatus.ACTIVE


def test_bob_chooses_between_his_tenants_and_only_those(bob: User, team: Tenant, job: Job, charlie: User) -> None:
    client = browser_of(bob)
    assert "Nightly" not in client.get("/jobs").content.decode()

    client.post("/tenant", {"tenant": team.pk})
    assert "Nightly" in client.get("/jobs").content.decode()

    for foreign in (charlie.tenants.get().pk, "all", "nonsense"):
        client.post("/tenant", {"tenant": foreign})
        assert "Nightly" in client.get("/jobs").content.decode()


def test_staff_may_look_at_all_tenants(alice: User, charlie: User, job: Job) -> None:
    User.objects.filter(pk=charlie.pk).update(is_staff=True)
    client = browser_of(User.objects.get(pk=charlie.pk))

    client.post("/tenant", {"tenant": "all"})

    assert "Nightly" in client.get("/jobs").content.decode()
    assert client.get("/").status_code == 200
    assert client.post(f"/jobs/{job.pk}/pause").status_code == 403  # to look is not to change


def test_dead_letters_of_one_cause_are_replayed_or_let_go_together(alice: User, job: Job, dead: Execution) -> None:
    before = timezone.now() - timedelta(minutes=1)
    other = run_of(job, before, Status.FAILED, error="another fault", fingerprint="fault")
    client = browser_of(alice)

    client.post("/dead-letters/act", {"fingerprint": "fire", "task": dead.task, "act": "replay"})
    client.post("/dead-letters/act", {"fingerprint": "fault", "task": dead.task, "act": "discard"})

    dead.refresh_from_db()
    other.refresh_from_db()
    assert dead.status == Status.SCHEDULED and other.discarded_at is not None
    assert "Nothing is dead" in client.get("/dead-letters").content.decode()


def test_what_a_run_says_is_on_its_page(alice: User, job: Job) -> None:
    run = run_of(job, timezone.now(), Status.RUNNING)
    Progress.objects.create(execution=run, attempt=1, number=2, fraction=0.4, message="page 4", at=run.due_at)
    LogLine.objects.create(execution=run, attempt=1, number=1, at=run.due_at, level="info", text="page <3> drawn")

    page = browser_of(alice).get(f"/executions/{run.pk}").content.decode()

    assert '<progress value="0.4"' in page and "40% page 4" in page and "page &lt;3&gt; drawn" in page


def test_secrets_in_payloads_are_not_shown(alice: User, job: Job, dead: Execution) -> None:
    Job.objects.filter(pk=job.pk).update(payload={"to": "a@example.com", "password": "hunter22"})

    for path in (f"/jobs/{job.pk}", f"/executions/{dead.pk}"):
        page = browser_of(alice).get(path).content.decode()
        assert "a@example.com" in page and "hunter22" not in page


def test_a_key_is_shown_once_works_and_is_revoked(alice: User, job: Job, charlie: User) -> None:
    client = browser_of(alice)

    made = client.post("/keys", {"name": "deploys", "scopes": ["read"], "days": "30"}).content.decode()
    text = re.search(r"punctual_[0-9a-f]{12}_[\w-]{43}", made)[0]
    asked = {"authorization": f"Api-Key {text}"}
    assert Client(headers=asked).get("/api/v1/jobs").status_code == 200
    key = ApiKey.objects.get()
    listed = client.get("/keys").content.decode()
    assert "deploys" in listed and text not in listed

    assert browser_of(charlie).post(f"/keys/{key.pk}/revoke").status_code == 404
    client.post(f"/keys/{key.pk}/revoke")
    assert Client(headers=asked).get("/api/v1/jobs").status_code == 401
    assert "revoked" in client.get("/keys").content.decode()
    refused = client.post("/keys", {"name": "", "days": "30"}).content.decode()
    assert "This field is required." in refused and ApiKey.objects.count() == 1


def test_an_edited_payload_is_checked_before_the_replay(alice: User, dead: Execution) -> None:
    client = browser_of(alice)
    address = f"/executions/{dead.pk}/replay-edited"

    for payload, told in (
        ("{", "no JSON"),
        ('{"to": "nowhere"}', "refused"),
        ("[1]", "refused"),
        ('"\\u0000"', "refused"),
    ):
        page = client.post(address, {"payload": payload}, follow=True).content.decode()
        assert "message error" in page and told in page
    client.post(address, {"payload": '{"to": "b@example.com", "subject": "New", "body": "…"}'})

    dead.refresh_from_db()
    assert dead.status == Status.SCHEDULED and dead.payload["subject"] == "New"


def test_lists_are_searched_narrowed_down_and_paged(alice: User, team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.dashboard.paging.SIZE", 2)
    jobs = [job_of(team, f"job {number}") for number in range(5)]
    client = browser_of(alice)

    def listed(path: str) -> tuple[list[str], str]:
        page = client.get(path).content.decode()
        older = re.search(r'href="(\?[^"]*before[^"]*)"', page)
        return re.findall(r">(job \d)</a>", page), f"/jobs{older[1]}".replace("&amp;", "&") if older else ""

    seen, path = [], "/jobs"
    while path:
        found, path = listed(path)
        seen += found
    assert seen == [job.name for job in sorted(jobs, key=lambda job: job.pk, reverse=True)]
    assert listed("/jobs?q=JOB+3")[0] == ["job 3"]
    assert listed("/jobs?status=PAUSED")[0] == [] and len(listed("/jobs?task=send_email")[0]) == 2
    assert client.get("/jobs?before=nonsense&status=nonsense").status_code == 200


def test_registering_signs_in_and_mistakes_stand_beside_their_field(db: None) -> None:
    client = browser_of(None)

    refused = client.post("/register", {"username": "dora", "email": "dora@example.com", "password": "1234"})
    assert "too short" in refused.content.decode() and not User.objects.exists()
    client.post("/register", {"username": "dora", "email": "dora@example.com", "password": PASSWORD})

    page = client.get("/").content.decode()
    assert "No jobs yet" in page and "curl" in page
    assert client.post("/sign-out").status_code == 302 and client.get("/").status_code == 302


def test_somebody_without_a_tenant_is_told_what_to_do(alice: User) -> None:
    alice.memberships.all().delete()

    answer = browser_of(alice).get("/")

    assert answer.status_code == 403 and "Ask an owner" in answer.content.decode()


def test_addresses_that_lead_nowhere_answer_in_the_askers_language(db: None) -> None:
    assert "<h1>Nothing here</h1>" in browser_of(None).get("/nowhere").content.decode()
    assert Client().get("/nowhere").headers["Content-Type"] == "application/problem+json"
    assert browser_of(None).get("/api/v1/nowhere").headers["Content-Type"] == "application/problem+json"


def test_the_overview_says_what_was_missed_to_whom_it_concerns(alice: User, charlie: User, job: Job) -> None:
    watched = Watched()
    due_at(job, watched.time - timedelta(minutes=1))
    for _ in range(3):
        watched.look(after=timedelta(seconds=15), without=("poller",))

    hers, his = (browser_of(who).get("/").content.decode() for who in (alice, charlie))
    User.objects.filter(pk=charlie.pk).update(is_staff=True)
    client = browser_of(charlie)
    client.post("/tenant", {"tenant": "all"})
    theirs = client.get("/").content.decode()

    assert "Missed: <a" in hers and "because no poller is running" in hers and "Nightly &lt;report&gt;" in hers
    assert 'id="incidents"' not in his
    assert "No poller is running: nothing becomes due." not in hers
    assert "Missed: <a" in theirs and "No poller is running: nothing becomes due." in theirs
