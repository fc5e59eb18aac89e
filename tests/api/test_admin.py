"""The admin: lists, pages and the form. What is done there goes through the same services as the API's."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.services import register_admin
from jobs import services
from jobs.admin import lists
from jobs.ids import execution_id
from jobs.models import Attempt, Execution, Incident, Job, LogLine, Progress
from jobs.sealing import get_seal
from jobs.services import NewJob
from jobs.states import AttemptOutcome, Level, Status

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
NIGHTLY = {"type": "cron", "expression": "30 2 * * *", "timezone": "Europe/Berlin"}


@pytest.fixture
def root(client, db):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


@pytest.fixture
def job(team) -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name="Hourly"), tenant=team, actor=None)


@pytest.fixture
def execution(job) -> Execution:
    execution = services.run_job_now(job, actor=None)
    Attempt.objects.create(
        execution=execution,
        number=1,
        outcome=AttemptOutcome.FAILED,
        error="451",
        traceback="Traceback (most recent call last): …",
        finished_at=execution.due_at,
    )
    return execution


def history(job: Job, count: int, status: Status = Status.COMPLETED) -> list[Execution]:
    """So many executions of a job, a minute apart, the newest first."""
    now = timezone.now()
    dues = [now - timedelta(minutes=place + 1) for place in range(count)]
    rows = [
        Execution(
            id=execution_id(job.id, due, "schedule"),
            job=job,
            tenant_id=job.tenant_id,
            task=job.task,
            priority=5,
            status=status,
            attempt=1,
            due_at=due,
            not_before=due,
            recorded_at=due,
            started_at=due,
            finished_at=due + timedelta(seconds=2),
        )
        for due in dues
    ]
    return Execution.objects.bulk_create(rows)


def shown(page) -> list:
    return [one.pk for one in page.context["cl"].result_list]


def followed(link: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(link).query).items()}


@pytest.mark.parametrize("model", ["job", "execution", "attempt", "auditevent"])
def test_every_list_opens_filtered_and_searched(root, execution, model) -> None:
    address = reverse(f"admin:jobs_{model}_changelist")

    page = root.get(address, {"q": ""})

    assert page.status_code == 200
    assert b"send_email" in page.content or b"Hourly" in page.content
    assert root.get(address, {"q": "nothing like it"}).status_code == 200


@pytest.mark.parametrize("page", ["index", "login", "jobs_job_add", "jobs_job_changelist"])
def test_its_pages_load_nothing_from_elsewhere(root, page) -> None:
    if page == "login":
        root.logout()

    drawn = root.get(reverse(f"admin:{page}"), follow=True).content.decode()

    loaded = re.findall(r"<(?:script|link|img|iframe|form)\b[^>]*?(?:src|href|action)=\"([^\"]*)", drawn)
    assert loaded and [url for url in loaded if urlsplit(url).netloc] == []


@pytest.mark.parametrize("name", ["dead_letters", "calendar", "workers"])
def test_every_page_opens_with_nothing_to_show_and_with_something(root, job, name) -> None:
    assert root.get(reverse(f"admin:{name}")).status_code == 200
    Execution.objects.filter(pk=services.run_job_now(job, actor=None).pk).update(
        status=Status.RUNNING, started_at=timezone.now(), worker="box-1"
    )
    history(job, 3, Status.FAILED)

    page = root.get(reverse(f"admin:{name}"))

    assert page.status_code == 200 and ("Hourly" in page.content.decode() or "send_email" in page.content.decode())


def test_every_account_list_opens(root, team) -> None:
    for address in ("accounts_user", "accounts_tenant", "auth_group"):
        assert root.get(reverse(f"admin:{address}_changelist")).status_code == 200
        assert root.get(reverse(f"admin:{address}_add")).status_code == 200


def test_the_front_page_is_the_first_list_that_one_may_see(root) -> None:
    assert root.get(reverse("admin:index")).url == reverse("admin:jobs_job_changelist")


def test_a_list_is_narrowed_down_to_a_task(root, execution) -> None:
    address = reverse("admin:jobs_execution_changelist")

    assert shown(root.get(address, {"task": "send_email"})) == [execution.pk]
    assert shown(root.get(address, {"task": "http_request"})) == []


@pytest.mark.parametrize(
    ("page", "asked", "told"),
    [
        ("jobs_job_changelist", {"priority": "7"}, "Unknown or invalid filter. The list is not filtered."),
        ("jobs_execution_changelist", {"state": "FAILED"}, "Unknown or invalid filter. The list is not filtered."),
        ("calendar", {"hours": "5"}, "Unknown hours: 5."),
    ],
)
def test_a_filter_that_cannot_be_applied_is_told(root, execution, page, asked, told) -> None:
    answer = root.get(reverse(f"admin:{page}"), asked, follow=True)

    assert answer.status_code == 200 and told in answer.content.decode()


def test_dead_letters_are_narrowed_down_to_a_task(root, job) -> None:
    history(job, 1, Status.FAILED)
    address = reverse("admin:dead_letters")

    assert len(root.get(address, {"task": "send_email"}).context["groups"]) == 1
    assert root.get(address, {"task": "http_request"}).context["groups"] == []


def test_every_time_in_the_admin_says_its_zone(root, team, job, execution) -> None:
    now = timezone.now()
    told = {"key": "k", "subject": str(job.pk), "kind": "missed", "tenant": team, "job": job, "title": "Hourly"}
    incident = Incident.objects.create(**told, since=now, last_at=now, opened_at=now)
    dead = history(job, 1, Status.FAILED)[0]
    lists = ("jobs_job", "jobs_execution", "jobs_incident", "jobs_attempt", "jobs_auditevent", "accounts_tenant")
    pages = [reverse(f"admin:{name}_changelist") for name in lists]
    pages += [reverse("admin:dead_letters"), f"{reverse('admin:dead_letters')}?cause=&task=send_email"]
    pages += [reverse("admin:calendar"), reverse("admin:workers"), reverse("admin:jobs_job_change", args=[job.pk])]
    pages += [reverse("admin:jobs_execution_change", args=[one.pk]) for one in (execution, dead)]
    incident_page = reverse("admin:jobs_incident_change", args=[incident.pk])

    for page in [*pages, incident_page]:
        drawn = root.get(page).content.decode()
        assert re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?! UTC)[^\n]*", drawn) == [], page
    assert f"{now:%Y-%m-%d %H:%M:%S} UTC" in root.get(incident_page).content.decode()
    assert "The worst minutes (UTC)" in root.get(reverse("admin:calendar")).content.decode()


def test_what_the_service_refuses_is_told_above_the_form_as_it_was_typed(root, team, settings, monkeypatch) -> None:
    settings.MAX_ACTIVE_JOBS = 1
    address = reverse("admin:jobs_job_add")
    assert root.post(address, form(team, schedule=json.dumps(HOURLY))).status_code == 302

    refused = root.post(address, form(team, name="The second", schedule=json.dumps(HOURLY)))

    page = refused.content.decode()
    assert refused.status_code == 200 and "The quota of active jobs is 1" in page
    assert 'value="The second"' in page and Job.objects.count() == 1


def test_pages_follow_each_other_without_gap_or_repeat_in_both_directions(root, job, monkeypatch) -> None:
    monkeypatch.setattr("jobs.admin.execution.ExecutionAdmin.list_per_page", 3)
    rows = [one.pk for one in history(job, 7)]
    address = reverse("admin:jobs_execution_changelist")

    first = root.get(address)
    second = root.get(address, followed(first.context["cl"].older))
    third = root.get(address, followed(second.context["cl"].older))
    back = root.get(address, followed(third.context["cl"].newer))

    assert [shown(page) for page in (first, second, third)] == [rows[:3], rows[3:6], rows[6:]]
    assert not first.context["cl"].newer and not third.context["cl"].older
    assert shown(back) == rows[3:6]


def test_a_filter_looks_through_a_part_and_says_where_to_go_on(root, job, monkeypatch) -> None:
    monkeypatch.setattr(lists, "LOOKED_THROUGH", 4)
    rows = history(job, 6)
    Execution.objects.filter(pk=rows[-1].pk).update(status=Status.FAILED)
    address = reverse("admin:jobs_execution_changelist")

    first = root.get(address, {"status__exact": "FAILED"})
    second = root.get(address, followed(first.context["cl"].looking_further))

    assert shown(first) == [] and "Look further" in first.content.decode()
    assert shown(second) == [rows[-1].pk] and not second.context["cl"].looking_further


def test_the_id_of_an_execution_or_of_its_job_finds_it_however_old_it_is(root, job, monkeypatch) -> None:
    monkeypatch.setattr(lists, "LOOKED_THROUGH", 1)
    rows = history(job, 3)
    address = reverse("admin:jobs_execution_changelist")

    assert shown(root.get(address, {"q": str(rows[-1].pk)})) == [rows[-1].pk]
    assert shown(root.get(address, {"q": str(job.pk)})) == [one.pk for one in rows]


def test_a_cursor_that_is_none_shows_the_first_page(root, execution) -> None:
    address = reverse("admin:jobs_execution_changelist")

    assert shown(root.get(address, {"after": "nonsense"})) == [execution.pk]


def test_history_can_be_read_and_not_written(root, execution) -> None:
    address = reverse("admin:jobs_execution_change", args=[execution.pk])

    page = root.get(address)

    assert page.status_code == 200
    assert b"Recorded" in page.content and b"451" in page.content and b"alice@example.com" in page.content
    assert b"Traceback" in page.content
    assert root.post(address, {"status": "COMPLETED"}).status_code == 403
    assert root.get(reverse("admin:jobs_execution_add")).status_code == 403
    assert root.post(reverse("admin:jobs_execution_delete", args=[execution.pk])).status_code == 403


def test_the_page_of_a_job_tells_how_it_is_doing(root, job) -> None:
    rows = history(job, 4)
    Execution.objects.filter(pk=rows[0].pk).update(status=Status.FAILED, error="451")

    page = root.get(reverse("admin:jobs_job_change", args=[job.pk]))

    told = page.context["page"]
    assert [tick.id for tick in told.ticks] == [one.pk for one in reversed(rows)]
    assert told.success_rate == "75 %" and told.usual_length == timedelta(seconds=2)
    assert "451" in told.ticks[-1].told and told.ticks[-1].status == Status.FAILED
    assert "Every 3600 seconds" in page.content.decode() or told.words in page.content.decode()


def test_an_audit_event_tells_what_differs_and_no_more(root, job) -> None:
    services.update_job(job, {"name": "Renamed"}, actor=None)
    event = job.audit_events.get(action="update")

    page = root.get(reverse("admin:jobs_auditevent_change", args=[event.pk]))

    assert page.context["changes"] == [("name", '"Hourly"', '"Renamed"')]


def form(team, **changes) -> dict:
    fields = {"name": "Made here", "tenant": str(team.pk), "task": "send_email", "payload": json.dumps(MAIL)}
    return fields | {"schedule": "", "priority": "5", "max_retries": ""} | changes


def test_a_job_made_in_the_admin_is_due_and_its_page_is_shown(root, team) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, schedule=json.dumps(HOURLY)))

    assert answer.status_code == 302, answer.context["errors"]
    job = Job.objects.get()
    assert job.next_run_at and job.owner.username == "root" and job.tenant == team
    assert answer.url.startswith(reverse("admin:jobs_job_change", args=[job.pk]))


def test_a_duplicate_starts_with_all_that_the_other_has(root, job) -> None:
    page = root.get(reverse("admin:jobs_job_add"), {"copy": str(job.pk)})

    initial = page.context["adminform"].form.initial
    assert initial["name"] == "Hourly (copy)" and initial["payload"] == MAIL
    assert initial["schedule"] == job.schedule and initial["tenant"] == job.tenant_id


def test_a_changed_job_keeps_what_was_not_changed(root, job, team) -> None:
    before = job.next_run_at
    address = reverse("admin:jobs_job_change", args=[job.pk])

    answer = root.post(address, form(team, name="Renamed", schedule=json.dumps(job.schedule)))

    assert answer.status_code == 302
    job.refresh_from_db()
    assert job.name == "Renamed" and job.next_run_at == before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"payload": '{"to": "nowhere"}'}, "is missing"),
        ({"schedule": '{"type": "cron", "expression": "61 * * * *"}'}, "minute"),
        ({"schedule": "not json"}, "valid JSON"),
        ({"task": "send_emial"}, "valid choice"),
    ],
)
def test_mistakes_are_told_beside_the_field(root, team, changes, says) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, **changes))

    assert answer.status_code == 200 and says in answer.content.decode()
    assert not Job.objects.exists()


def test_faults_are_told_by_part_for_the_form_that_is_drawn(root, team) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, payload='{"to": "nowhere", "subject": "x"}'))

    faults = answer.context["adminform"].form.fields["payload"].widget.faults
    assert faults["body"] == "is missing." and "payload-faults" in answer.content.decode()


def test_the_form_knows_what_each_task_wants(root) -> None:
    page = root.get(reverse("admin:jobs_job_add")).content.decode()

    assert '"One address, or a list of up to 100."' in page and 'id="payload-schemas"' in page


def test_a_schedule_is_previewed_before_it_is_saved(root) -> None:
    answer = root.post(reverse("admin:jobs_job_preview"), {"schedule": json.dumps(NIGHTLY)}).json()

    assert answer["faults"] == {} and answer["first"]
    assert answer["drawn"].count(" 02:30 ") >= 9 and "Europe/Berlin" in answer["drawn"]


def test_a_preview_flags_days_on_which_the_clocks_change(root) -> None:
    spring = NIGHTLY | {"start_at": "2027-03-25T00:00:00Z"}

    drawn = root.post(reverse("admin:jobs_job_preview"), {"schedule": json.dumps(spring)}).json()["drawn"]

    assert "Clock change" in drawn and "02:30 does not exist" in drawn


@pytest.mark.parametrize(
    ("schedule", "field"),
    [
        ('{"type": "cron", "expression": "61 * * * *"}', "expression"),
        ('{"type": "cron", "expression": "0 0 * * *", "timezone": "Mars/Base"}', "timezone"),
        ("[1]", "schedule"),
        ("{", "schedule"),
        ('{"type": "interval"}', "seconds"),
    ],
)
def test_a_preview_names_the_part_that_is_wrong(root, schedule, field) -> None:
    answer = root.post(reverse("admin:jobs_job_preview"), {"schedule": schedule})

    assert answer.status_code == 200 and list(answer.json()["faults"]) == [field]


def test_the_form_of_a_new_job_opens_without_an_error(root) -> None:
    page = root.get(reverse("admin:jobs_job_add"))
    opened = page.context["adminform"].form["schedule"].value()

    for schedule in (opened, "null", ""):
        answer = root.post(reverse("admin:jobs_job_preview"), {"schedule": schedule}).json()
        assert answer["faults"] == {} and "drawn" in answer


def test_the_load_of_a_minute_is_told(root, job) -> None:
    from django.core.cache import cache

    cache.clear()
    address = reverse("admin:jobs_job_load")

    assert "1 other execution starts" in root.get(address, {"at": job.next_run_at.isoformat()}).json()["said"]
    assert "cannot be said yet" in root.get(address, {"at": "2099-01-01T00:00:00Z"}).json()["said"]
    assert root.get(address, {"at": "nonsense"}).status_code == 200


def test_deleting_a_job_keeps_its_history(root, job, execution) -> None:
    root.post(reverse("admin:jobs_job_delete", args=[job.pk]), {"post": "yes"})

    job.refresh_from_db()
    assert job.deleted_at and job.next_run_at is None
    assert Execution.objects.get().status == Status.CANCELLED


def test_an_emptied_schedule_stays_as_it_was(root, job, team) -> None:
    before = job.schedule

    answer = root.post(reverse("admin:jobs_job_change", args=[job.pk]), form(team, schedule=""))

    job.refresh_from_db()
    assert answer.status_code == 302 and job.schedule == before and job.next_run_at


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"payload": json.dumps(MAIL | {"body": "\x00"})}, "u0000"),
        ({"max_retries": "30000"}, "less than or equal to 100"),
    ],
)
def test_what_the_api_refuses_the_admin_refuses(root, job, team, changes, says) -> None:
    answer = root.post(reverse("admin:jobs_job_change", args=[job.pk]), form(team, **changes))

    assert answer.status_code == 200 and says in answer.content.decode()


def test_a_cancelled_job_cannot_be_edited(root, job, team) -> None:
    services.cancel_job(job, actor=None)

    answer = root.post(reverse("admin:jobs_job_change", args=[job.pk]), form(team, name="Again"))

    assert answer.status_code == 200 and "Create a new one" in answer.content.decode()


def test_tags_are_written_as_people_do_and_kept_as_the_api_keeps_them(root, team) -> None:
    root.post(reverse("admin:jobs_job_add"), form(team, tags="Billing, team:data billing"))

    job = Job.objects.get()
    assert job.tags == ["billing", "team:data"]
    assert 'value="billing, team:data"' in root.get(reverse("admin:jobs_job_change", args=[job.pk])).content.decode()


def test_what_is_no_tag_is_told_beside_the_field(root, team) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, tags="#!"))

    assert "is no tag" in answer.context["adminform"].form.errors["tags"][0]


def test_what_a_handler_said_and_how_far_it_is_are_shown(root, execution) -> None:
    now = timezone.now()
    LogLine.objects.create(execution=execution, attempt=1, number=1, at=now, level=Level.INFO, text="page 3 of 4")
    Progress.objects.create(execution=execution, attempt=1, number=2, fraction=0.75, message="nearly there", at=now)

    page = root.get(reverse("admin:jobs_execution_change", args=[execution.pk])).content.decode()

    assert "page 3 of 4" in page and "75 %" in page and "nearly there" in page


HOOK = {"url": "https://example.com/hook", "headers": {"Authorization": "Bearer s3cr3t-value"}}


def test_secrets_are_shown_nowhere_and_survive_an_edit_that_leaves_them_alone(root, team) -> None:
    wanted = NewJob("http_request", HOOK, HOURLY, name="Hook")
    job = services.create_job(wanted, tenant=team, actor=None)
    execution = services.run_job_now(job, actor=None)
    address = reverse("admin:jobs_job_change", args=[job.pk])
    shown_payload = root.get(address).context["adminform"].form.initial["payload"]

    changed = shown_payload | {"timeout": 7}
    answer = root.post(
        address, form(team, task="http_request", payload=json.dumps(changed), schedule=json.dumps(job.schedule))
    )

    assert answer.status_code == 302
    pages = [
        address,
        reverse("admin:jobs_execution_change", args=[execution.pk]),
        *(reverse("admin:jobs_auditevent_change", args=[event.pk]) for event in job.audit_events.all()),
    ]
    assert not [page for page in pages if "s3cr3t-value" in root.get(page).content.decode()]
    stored = Job.objects.get(pk=job.pk)
    assert stored.payload["timeout"] == 7
    assert get_seal().opened(stored.payload, team.pk)["headers"] == HOOK["headers"]
