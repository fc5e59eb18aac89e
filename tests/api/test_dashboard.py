"""The pages: who sees what, what they do, and what a browser may load for them."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from html import escape, unescape
from urllib.parse import unquote
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts import keys
from accounts.groups import VIEWERS
from accounts.models import ApiKey, Membership, Tenant, User
from accounts.teams import create_tenant
from jobs import services
from jobs.models import Attempt, AuditEvent, Execution, Job, LogLine, Progress
from jobs.states import AttemptOutcome, JobStatus, Status
from jobs.stats.snapshot import snapshots
from tests.alerting import Watched, due_at
from tests.api.test_stats import MAIL, job_of, run_of
from tests.conftest import PASSWORD
from tests.staff import staff_of

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


def test_no_polled_page_is_sent_again_until_it_changes_whatever_buttons_it_has(
    alice: User, job: Job, dead: Execution
) -> None:
    client = browser_of(alice)
    polled = {}

    for path in ("/", "/jobs", f"/jobs/{job.pk}", "/executions", f"/executions/{dead.pk}", "/dead-letters"):
        whole, first = client.get(path), client.get(path, {"live": ""})
        again = client.get(path, {"live": ""}, headers={"if-none-match": first.headers["ETag"]})
        strong = client.get(path, {"live": ""}, headers={"if-none-match": first.headers["ETag"].removeprefix("W/")})
        assert "<html" not in first.content.decode() and "csrfmiddlewaretoken" not in first.content.decode()
        assert whole.content.decode().count("csrfmiddlewaretoken") == whole.content.decode().count('method="post"')
        polled[path] = (again.status_code, again.content, strong.status_code, first.content.count(b'method="post"'))

    assert {path: answer[:3] for path, answer in polled.items()} == dict.fromkeys(polled, (304, b"", 304))
    assert sum(buttons for *_, buttons in polled.values()) >= 5
    mark = client.get(f"/jobs/{job.pk}?live").headers["ETag"]
    client.post(f"/jobs/{job.pk}/pause")
    assert client.get(f"/jobs/{job.pk}?live", headers={"if-none-match": mark}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/jobs/{job}"])
def test_updates_of_a_polled_page_are_compressed_and_still_known_by_their_tag(alice: User, job: Job, path: str) -> None:
    client, path = browser_of(alice), path.format(job=job.pk)
    plain = client.get(path, {"live": ""})

    packed = client.get(path, {"live": ""}, headers={"accept-encoding": "gzip"})
    known = {"accept-encoding": "gzip", "if-none-match": packed.headers["ETag"]}

    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content)[:200] == plain.content[:200]
    assert len(packed.content) < len(plain.content) / 2
    assert client.get(path, {"live": ""}, headers=known).status_code == 304


def test_strangers_are_sent_to_sign_in_and_back(db: None, job: Job) -> None:
    stranger = browser_of(None)

    assert stranger.get(f"/jobs/{job.pk}").headers["Location"] == f"/sign-in?next=%2Fjobs%2F{job.pk}"
    assert stranger.get("/?live").status_code == 401
    assert stranger.post(f"/jobs/{job.pk}/pause").status_code == 302
    job.refresh_from_db()
    assert job.status == JobStatus.ACTIVE


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/jobs?status=ACTIVE", "?next=%2Fjobs%3Fstatus%3DACTIVE"),
        ("http://elsewhere.example/jobs", ""),
        ("http://testserver.elsewhere.example/", ""),
        ("javascript:alert(1)", ""),
        ("http://testserver//elsewhere.example/", "?next=%2Felsewhere.example%2F"),
        ("", ""),
    ],
)
def test_a_form_sent_after_the_session_ended_leads_back_to_its_own_page_only(
    db: None, alice: User, job: Job, referer: str, back: str
) -> None:
    stranger = browser_of(None)

    answer = stranger.post(f"/jobs/{job.pk}/pause", headers={"referer": referer})
    credentials = {"username": alice.username, "password": PASSWORD}
    after = stranger.post(answer.headers["Location"], credentials).headers["Location"]

    assert answer.headers["Location"] == f"/sign-in{back}"
    assert after == (unquote(back.removeprefix("?next=")) or "/")
    assert not after.startswith(("//", "http", "javascript"))
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


def test_staff_who_may_look_choose_all_tenants(alice: User, charlie: User, job: Job) -> None:
    client = browser_of(staff_of(charlie, VIEWERS))

    client.post("/tenant", {"tenant": "all"})

    assert "Nightly" in client.get("/jobs").content.decode()
    assert client.get("/").status_code == 200
    assert client.post(f"/jobs/{job.pk}/pause").status_code == 403  # to look is not to change


def test_dead_letters_of_one_cause_are_replayed_or_let_go_together(alice: User, job: Job, dead: Execution) -> None:
    before = timezone.now() - timedelta(minutes=1)
    other = run_of(job, before, Status.FAILED, error="another fault", fingerprint="fault")
    client = browser_of(alice)

    assert client.post("/dead-letters/act", {"fingerprint": "fire", "task": dead.task}).status_code == 404
    client.post("/dead-letters/act", {"fingerprint": "fire", "task": dead.task, "act": "replay"})
    client.post("/dead-letters/act", {"fingerprint": "fault", "task": dead.task, "act": "discard"})

    dead.refresh_from_db()
    other.refresh_from_db()
    assert dead.status == Status.SCHEDULED and other.discarded_at is not None
    assert "No dead letters" in client.get("/dead-letters").content.decode()


def test_what_a_run_says_is_on_its_page(alice: User, job: Job) -> None:
    run = run_of(job, timezone.now(), Status.RUNNING)
    Progress.objects.create(execution=run, attempt=1, number=2, fraction=0.4, message="page 4", at=run.due_at)
    LogLine.objects.create(execution=run, attempt=1, number=1, at=run.due_at, level="info", text="page <3> drawn")

    page = browser_of(alice).get(f"/executions/{run.pk}").content.decode()

    assert '<progress value="0.4"' in page and "40% page 4" in page and "page &lt;3&gt; drawn" in page


def test_coming_due_times_are_shown_in_the_zone_of_the_job(alice: User, team: Tenant) -> None:
    schedule = {"type": "cron", "expression": "0 3 * * *", "timezone": "Asia/Jakarta"}
    job = services.create_job(services.NewJob("send_email", MAIL, schedule), tenant=team, actor=alice)

    page = browser_of(alice).get(f"/jobs/{job.pk}").content.decode()

    assert page.count(" 03:00 WIB</td>") == 10 and "<th>Asia/Jakarta</th>" in page


def test_start_delay_ends_with_the_start_of_the_first_attempt(alice: User, job: Job) -> None:
    due = timezone.now() - timedelta(hours=2)
    run = run_of(job, due, attempt=2, started_at=due + timedelta(hours=1), finished_at=due + timedelta(hours=1))
    first = due + timedelta(seconds=3)
    Attempt.objects.create(
        execution=run, number=1, outcome=AttemptOutcome.FAILED, error="…", started_at=first, finished_at=first
    )
    root = User.objects.create_superuser("root", "root@example.com", PASSWORD)

    shown = browser_of(alice).get(f"/executions/{run.pk}").content.decode()
    administered = browser_of(root).get(f"/admin/jobs/execution/{run.pk}/change/").content.decode()

    assert '<dt>Start delay</dt><dd id="start-delay">3.0 s</dd>' in shown
    assert "<span>Start delay</span><strong>3.0 s</strong>" in administered


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


def test_nobody_is_offered_api_keys_that_they_may_not_make(bob: User, team: Tenant) -> None:
    Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)
    keys.create_key(tenant=team, creator=bob, name="deploys", scopes=["read"])
    client = browser_of(bob)
    client.post("/tenant", {"tenant": team.pk})
    page = client.get("/keys").content.decode()
    assert "deploys" in page and "read access only" in page
    assert "Create key" not in page and "Revoke deploys" not in page

    nobody = browser_of(User.objects.create_superuser("root", "root@example.com", PASSWORD))
    assert "/keys" not in nobody.get("/").content.decode()  # without a tenant there is nobody to make them for


def test_an_edited_payload_is_checked_before_the_replay(alice: User, dead: Execution) -> None:
    client = browser_of(alice)
    address = f"/executions/{dead.pk}/replay-edited"

    for payload, told in (
        ("{<typed>", "not valid JSON"),
        ('{"to": "nowhere"}', "subject: is missing."),
        ("[1]", "must be a JSON object"),
        ('"\\u0000"', "u0000"),
    ):
        page = client.post(address, {"payload": payload}).content.decode()
        assert 'class="fault" role="alert"' in page and told in unescape(page)
        assert f">{escape(payload)}</textarea>" in page and '<details id="edit" open>' in page
        assert "data-live" not in page.partition("<main")[2].partition(">")[0]  # its address answers only to POST
    assert client.get(address).headers["Location"] == f"/executions/{dead.pk}"  # not a page of its own
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


def test_the_address_of_a_form_leads_to_a_page_when_it_is_opened(alice: User, job: Job) -> None:
    run, client = run_of(job, timezone.now()), browser_of(alice)
    led = {
        path: client.get(path).headers["Location"]
        for path in (
            f"/jobs/{job.pk}/pause",
            f"/executions/{run.pk}/cancel",
            f"/executions/{run.pk}/replay",
            "/dead-letters/act",
            f"/keys/{run.pk}/revoke",
            "/tenant",
            "/sign-out",
            "/account/sign-out-everywhere",
            "/account/verification",
        )
    }

    assert list(led.values()) == [
        f"/jobs/{job.pk}",
        f"/executions/{run.pk}",
        f"/executions/{run.pk}",
        "/dead-letters",
        "/keys",
        "/",
        "/",
        "/account",
        "/account",
    ]
    assert all(client.get(path).status_code == 200 for path in led.values())


def test_filters_are_applied_or_refused_with_a_message_and_never_ignored(alice: User, team: Tenant, job: Job) -> None:
    run, other = run_of(job, timezone.now()), run_of(job_of(team, "Other"), timezone.now())
    client = browser_of(alice)

    def listed(path: str) -> tuple[set[str], str]:
        page = unescape(client.get(path).content.decode())
        return set(re.findall(r'<tr id="(?:run|job)-([0-9a-f-]+)"', page)), page

    assert listed("/executions")[0] == {str(run.pk), str(other.pk)}
    for path in ("/executions?task=of_another_release", "/jobs?task=of_another_release"):
        assert "<option selected>of_another_release</option>" in listed(path)[1], path
    found, page = listed(f"/executions?job={job.pk}")
    assert found == {str(run.pk)} and f'name="job" value="{job.pk}"' in page and "Executions of" in page
    for path, told in (
        ("/?span=7d", "Unknown span: 7d. Choose one of 5m, 1h, 24h."),
        ("/?tenant=acme", "Unknown filter: tenant."),
        ("/dead-letters?task=send_email", "Unknown filter: task."),
        ("/executions?job=nonsense", "Invalid job id: nonsense."),
        (f"/executions?job={uuid4()}", "Job not found"),
        ("/executions?status=nonsense", "Unknown status: nonsense. Choose one of SCHEDULED"),
        ("/executions?state=FAILED", "Unknown filter: state."),
        ("/jobs?status=nonsense", "Unknown status: nonsense."),
        ("/jobs?owner=alice", "Unknown filter: owner."),
        ("/jobs?q=one+two+three+four+five+six", "Search for 1 to 5 words; this has 6."),
        ("/jobs?q=!!", "Search for 1 to 5 words; this has 0."),
        ("/jobs?tag=two%20words", "two words"),
        ("/jobs?status=ACTIVE&status=PAUSED", "Repeated filter: status."),
        ("/jobs?before=nonsense", "Invalid before id: nonsense."),
        ("/executions?after=nonsense", "Invalid after id: nonsense."),
    ):
        found, page = listed(path)
        assert (found, told in page) == (set(), True), path
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    client.post("/tenant", {"tenant": "all"})
    assert listed("/jobs?tag=billing")[0] == set()
    assert "Tags belong to a tenant. Choose one to filter by tag." in listed("/jobs?tag=billing")[1]


def test_a_cancelled_execution_does_not_look_like_a_failed_one(alice: User, job: Job) -> None:
    now = timezone.now()
    run = run_of(job, now, Status.CANCELLED, error="RuntimeError: called off", reason="cancelled by alice")
    Execution.objects.filter(pk=run.pk).update(started_at=now, finished_at=now, cancel_requested_at=now)
    Attempt.objects.create(
        execution=run, number=1, outcome=AttemptOutcome.FAILED, error="RuntimeError: called off", finished_at=now
    )
    root = User.objects.create_superuser("root", "root@example.com", PASSWORD)

    page = browser_of(alice).get(f"/executions/{run.pk}").content.decode()
    administered = browser_of(root).get(f"/admin/jobs/execution/{run.pk}/change/").content.decode()

    assert '<p class="message plain" id="error">Cancelled: cancelled by alice</p>' in page
    assert '<span class="badge">interrupted</span>' in page and "badge failed" not in page
    assert "Attempt interrupted" in page and "Cancellation requested" in page and "Attempt failed" not in page
    assert '<p class="p-note">cancelled by alice</p>' in administered and "p-badge p-bad" not in administered
    assert "RuntimeError: called off" in page and "RuntimeError: called off" in administered  # in the attempt's details


def test_replaying_all_of_a_cause_asks_how_many(alice: User, job: Job) -> None:
    for minutes in range(3):
        due = timezone.now() - timedelta(minutes=minutes)
        run_of(job, due, Status.FAILED, error="no paper", fingerprint="paper")

    page = browser_of(alice).get("/dead-letters").content.decode()

    assert 'value="replay" data-asks="Replay 3 executions?">Replay all 3</button>' in page
    assert "data-kept" not in page  # or an open page would go on asking about the old number


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
    assert "<h1>Page not found</h1>" in browser_of(None).get("/nowhere").content.decode()
    assert Client().get("/nowhere").headers["Content-Type"] == "application/problem+json"
    assert browser_of(None).get("/api/v1/nowhere").headers["Content-Type"] == "application/problem+json"


def test_errors_outside_of_views_are_pages_with_the_remedy_for_people(alice: User, monkeypatch) -> None:
    client = browser_of(staff_of(alice))
    strict = Client(enforce_csrf_checks=True, headers=HTML)
    strict.force_login(alice)
    monkeypatch.setattr("jobs.dashboard.keys.keys.visible_to", lambda own: 1 / 0)
    client.raise_request_exception = False
    answers = {
        "lacks a permission": client.get("/admin/jobs/job/"),
        "without a valid CSRF token": strict.post("/tenant", {"tenant": "all"}),
        "Check its parameters": browser_of(None).get("/", headers={"host": "elsewhere.example"}),
        "server&#x27;s log": client.get("/keys"),
    }

    assert [answer.status_code for answer in answers.values()] == [403, 403, 400, 500]
    for told, answer in answers.items():
        page = answer.content.decode()
        assert told in page and "<h1>" in page and 'class="doorway"' in page, told
        assert answer.headers["Content-Type"].startswith("text/html") and "script-src 'self'" in str(answer.headers)
    program = strict.post("/tenant", {"tenant": "all"}, headers={"accept": "*/*"})
    assert program.status_code == 403 and program.json()["title"] == "Forbidden"


def test_the_history_of_a_deleted_job_offers_nothing_that_leads_nowhere(alice: User, job: Job, dead: Execution) -> None:
    running = run_of(job, timezone.now() - timedelta(minutes=1), Status.RUNNING, started_at=timezone.now())
    client = browser_of(alice)
    assert f'href="/jobs/{job.pk}"' in client.get(f"/executions/{dead.pk}").content.decode()
    services.delete_job(job, actor=alice)

    for one in (dead, running):
        page = client.get(f"/executions/{one.pk}").content.decode()
        assert "Nightly &lt;report&gt; (deleted)" in page and f'href="/jobs/{job.pk}"' not in page
        assert 'action="/executions/' not in page
    assert client.post(f"/executions/{running.pk}/cancel").status_code == 404
    told = client.post("/dead-letters/act", {"fingerprint": "fire", "task": job.task, "act": "replay"}, follow=True)
    assert "Replayed 0. 1 not replayed: the job was cancelled or deleted" in told.content.decode()


def test_the_overview_says_what_was_missed_to_whom_it_concerns(alice: User, charlie: User, job: Job) -> None:
    watched = Watched()
    due_at(job, watched.time - timedelta(minutes=1))
    for _ in range(3):
        watched.look(after=timedelta(seconds=15), without=("poller",))

    hers, his = (browser_of(who).get("/").content.decode() for who in (alice, charlie))
    client = browser_of(staff_of(charlie, VIEWERS))
    client.post("/tenant", {"tenant": "all"})
    theirs = client.get("/").content.decode()

    assert "Missed: <a" in hers and "because no poller is running" in hers and "Nightly &lt;report&gt;" in hers
    assert 'id="incidents"' not in his
    assert "No poller is running: nothing becomes due." not in hers
    assert "Missed: <a" in theirs and "No poller is running: nothing becomes due." in theirs


def test_a_form_about_a_whole_tenant_acts_on_the_tenant_it_was_drawn_for(alice: User, dead: Execution) -> None:
    client = browser_of(alice)
    other = create_tenant(name="other", owner=alice).tenant
    pages = {path: client.get(path).content.decode() for path in ("/dead-letters", "/keys")}
    [scope] = {re.search('name="scope" value="([^"]+)"', page)[1] for page in pages.values()}
    client.post("/tenant", {"tenant": other.pk})  # in another tab

    act = {"act": "discard", "task": dead.task, "fingerprint": dead.fingerprint or "", "scope": scope}
    for path, body in (("/dead-letters/act", act), ("/keys", {"name": "CI", "scopes": ["read"], "scope": scope})):
        refused = client.post(path, body)
        assert refused.status_code == 403 and "Another tenant was chosen" in refused.content.decode()
    assert not ApiKey.objects.exists() and Execution.objects.dead().count() == 1
    for path in ("/", "/jobs", "/executions", "/dead-letters"):  # nor does it show what belongs to the other one
        told = client.get(path, {"live": scope})
        assert told.status_code == 409 and "Another tenant was chosen" in told.content.decode()
        assert client.get(path, {"live": other.pk}).status_code == 200
    client.post("/tenant", {"tenant": scope})

    assert client.post("/dead-letters/act", act).status_code == 302
    assert not Execution.objects.dead().exists()
