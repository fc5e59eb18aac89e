"""A file says which jobs there are to be."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from jobs import services
from jobs.as_code.applying import carry_out
from jobs.as_code.files import InvalidFile, read
from jobs.as_code.planning import plan
from jobs.models import AuditEvent, Job
from jobs.sealing import get_seal
from jobs.services import NewJob
from jobs.states import ChangedMeanwhile
from tests.lives import MAIL

pytestmark = pytest.mark.django_db

FILE = """
set: shop
jobs:
  - name: Nightly
    task: send_email
    payload: &mail {to: a@example.com, subject: Hello, body: There}
    schedule: {type: cron, expression: "0 2 * * *", timezone: Europe/Berlin}
    tags: [reports]
  - name: Each minute
    task: send_email
    payload: *mail
    schedule: {type: interval, seconds: 60}
    priority: high
    max_retries: 7
"""
HOOK = """
set: shop
jobs:
  - name: Hook
    task: http_request
    payload: {url: "https://example.com/", headers: {Authorization: {$env: SHOP_TOKEN}}}
    schedule: {type: interval, seconds: 60}
"""


def call(*words: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("schedules", *words, stdout=out, stderr=StringIO())
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def file(tmp_path, team):
    path = tmp_path / "jobs.yaml"
    path.write_text(FILE)
    return path


def applied(text: str, team) -> None:
    carry_out(plan(read(text), team), tenant=team, actor=None)


def test_a_plan_says_what_would_change_and_changes_nothing(file) -> None:
    status, told = call("plan", str(file))

    assert status == 2 and not Job.objects.exists()
    assert "+ Nightly: send_email" in told and "2 to create, 0 to change, 0 to delete." in told


def test_what_is_applied_is_as_the_file_says_and_a_second_plan_finds_nothing(file, alice) -> None:
    status, told = call("apply", str(file), "--as", "alice")

    assert status == 0 and told.endswith("Done.\n")
    nightly, minutely = Job.objects.order_by("-name")
    assert nightly.schedule["timezone"] == "Europe/Berlin" and nightly.tags == ["managed:shop", "reports"]
    assert (minutely.priority, minutely.max_retries, minutely.owner) == (9, 7, alice)
    assert {event.actor for event in AuditEvent.objects.all()} == {alice}
    assert call("plan", str(file)) == (0, "0 to create, 0 to change, 0 to delete.\n")


def test_a_change_is_shown_field_by_field_and_made_with_its_audit_event(file, team) -> None:
    call("apply", str(file))
    file.write_text(FILE.replace('"0 2 * * *"', '"0 3 * * *"').replace("high", "low"))

    status, told = call("plan", str(file))

    assert status == 2
    assert '    priority: "high" → "low"' in told and "0 3 * * *" in told and "2 to change" in told
    call("apply", str(file))
    assert Job.objects.get(name="Nightly").schedule["expression"] == "0 3 * * *"
    assert AuditEvent.objects.filter(action="update").count() == 2
    assert call("plan", str(file))[0] == 0


def test_a_job_that_leaves_the_file_is_deleted_and_others_are_left_alone(team) -> None:
    other = services.create_job(
        NewJob("send_email", MAIL, {"type": "interval", "seconds": 60}), tenant=team, actor=None
    )
    applied(FILE, team)

    applied("set: shop\njobs: []", team)

    assert list(Job.objects.kept()) == [other]


def test_two_files_have_their_own_jobs(team) -> None:
    applied(FILE, team)

    assert plan(read("set: billing\njobs: []"), team) == []


def test_a_change_by_hand_is_put_right(file, team) -> None:
    call("apply", str(file))
    services.update_job(Job.objects.get(name="Nightly"), {"max_retries": 1}, actor=None)

    assert "max_retries: 1 → null" in call("plan", str(file))[1]


def test_a_job_of_the_same_name_is_only_taken_over_when_asked(file, team) -> None:
    services.create_job(
        NewJob("send_email", MAIL, {"type": "interval", "seconds": 5}, name="Nightly"), tenant=team, actor=None
    )

    with pytest.raises(CommandError, match="--adopt"):
        call("plan", str(file))
    assert call("apply", str(file), "--adopt")[0] == 0
    assert Job.objects.kept().count() == 2 and call("plan", str(file))[0] == 0


def test_a_job_that_was_changed_since_the_plan_is_not_overwritten(team) -> None:
    applied(FILE, team)
    changes = plan(read(FILE.replace("high", "low")), team)
    services.update_job(Job.objects.get(name="Each minute"), {"max_retries": 1}, actor=None)

    with pytest.raises(ChangedMeanwhile):
        carry_out(changes, tenant=team, actor=None)
    assert Job.objects.get(name="Each minute").priority == 9


def test_secrets_come_from_the_environment_and_are_never_shown(team, tmp_path, monkeypatch) -> None:
    path = tmp_path / "hook.yaml"
    path.write_text(HOOK)
    monkeypatch.setenv("SHOP_TOKEN", "open-sesame")
    call("apply", str(path))
    job = Job.objects.get()
    assert get_seal().opened(job.payload, team.pk)["headers"]["Authorization"] == "open-sesame"
    assert call("plan", str(path))[0] == 0

    monkeypatch.setenv("SHOP_TOKEN", "another-one")
    status, told = call("plan", str(path))
    assert status == 2 and "another secret" in told and "another-one" not in told and "sesame" not in told

    path.write_text(HOOK.replace("{$env: SHOP_TOKEN}", "••••••"))
    assert call("plan", str(path))[0] == 0
    path.write_text(path.read_text().replace("https://example.com/", "https://example.net/"))
    with pytest.raises(CommandError, match=r"headers.Authorization: was stored for another value of url"):
        call("apply", str(path))

    path.write_text(HOOK)
    monkeypatch.delenv("SHOP_TOKEN")
    with pytest.raises(CommandError, match="SHOP_TOKEN is not set"):
        call("plan", str(path))


def test_what_is_exported_can_be_planned_and_changes_nothing_but_who_manages_it(team, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "open-sesame")
    applied(HOOK, team)
    applied(FILE.replace("set: shop", "set: mails"), team)
    path = tmp_path / "all.yaml"

    call("export", str(path), "--set", "mails")

    text = path.read_text()
    assert "sesame" not in text and "Europe/Berlin" in text
    [adopted] = plan(read(text), team, adopt=True)
    assert [one.field for one in adopted.differences] == ["tags"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("jobs: [", "no YAML"),
        ("- 1", "`set`, a name, and `jobs`, a list"),
        ("set: shop\njobs: []\nextra: 1", "'extra' is not part"),
        ("set: A b\njobs: []", "small letters"),
        ("set: shop\njobs:\n  - task: x", "object with a `name`"),
        ("set: shop\njobs:\n  - {name: a, task: send_email, tsak: x}", "tsak: cannot be set"),
        ("set: shop\njobs:\n  - {name: a, task: send_email, task: x}", "'task' is given twice"),
        ("set: shop\njobs:\n  - {name: a, task: send_email, schedule: {type: now}}", "not 'now'"),
        (FILE.replace("Each minute", "Nightly"), "Two jobs are called"),
    ],
)
def test_a_file_that_cannot_be_carried_out_is_refused_with_the_reason(text, told) -> None:
    with pytest.raises(InvalidFile, match=told):
        read(text)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("task: send_email", "task: send_emial", "No task named 'send_emial'"),
        ("0 2 * * *", "0 25 * * *", "Nightly: .*25"),
        ("to: a@example.com, ", "", "to: is missing"),
    ],
)
def test_what_the_services_would_refuse_is_refused_by_the_plan(team, old, new, told) -> None:
    with pytest.raises(InvalidFile, match=told):
        plan(read(FILE.replace(old, new)), team)
