"""What the pages for operators tell people to type is typed as it stands, on a system of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts.models import Tenant
from jobs import services
from jobs.models import Execution, Job
from jobs.services import NewJob
from tests.alerting import due_at
from tests.misbehaving import MisbehavingServer
from tests.pages import block_with, compare, dialogue, plain, read_answer, section, steps
from tests.past import past
from tests.whole.fleet import Fleet
from tests.whole.person import Person
from tests.whole.processes import eventually, everything, ready_address, typed, web_alone

DOCS = settings.BASE_DIR / "docs"
LOOKING_AFTER = (DOCS / "looking-after.md").read_text(encoding="utf-8")
SCALING = (DOCS / "scaling.md").read_text(encoding="utf-8")
ALERTS = (DOCS / "alerts.md").read_text(encoding="utf-8")
HOURLY = {"type": "interval", "seconds": 3600}
MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}
SOON = {"WATCH_INTERVAL": "0.1", "COURIER_INTERVAL": "0.1", "MISSED_AFTER": "1", "ABSENT_AFTER": "1"}
INSIDE = "127.0.0.1"  # where the test has its receiver
YEAR = timedelta(days=365)
ROW = re.compile(r"^\| `(.* (\w+) FILE)` .* \| (.*) \|$", re.MULTILINE)  # a command, its act, its exit statuses
MADE = re.compile(r"jobs_execution_\w+")

once = pytest.mark.skipif(not settings.EMBEDDED, reason="the same in every mode: shown in embedded mode")
on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql" or bool(settings.REDIS_URL), reason="PostgreSQL's: shown in mode database"
)


@pytest.fixture
def fleet(mailserver) -> Iterator[Fleet]:
    fleet = Fleet(EMAIL_URL=mailserver.url, HTTP_ALLOWED_HOSTS=INSIDE, **SOON)
    yield fleet
    fleet.stop()


@pytest.fixture
def acme(team: Tenant) -> Tenant:
    """The tenant that the pages speak of."""
    team.name = "Acme"
    team.save()
    return team


@once
def test_the_doctor_says_what_the_page_shows_and_its_status_tells_whether_anything_is_wrong(fleet: Fleet) -> None:
    asked, shown = dialogue(block_with(LOOKING_AFTER, "manage.py doctor"))
    for role in ("executor", "recoverer", "watcher"):
        fleet.start(role)

    without_a_poller = typed(asked)
    for_programs = typed(asked.replace("doctor", "doctor --json"))
    fleet.start("poller")
    well = typed(asked)

    assert (without_a_poller.returncode, without_a_poller.stdout) == (2, shown)
    told = json.loads(for_programs.stdout)
    assert told.keys() == {"status", "repaired", "findings"}
    assert [one.keys() for one in told["findings"]] == [{"level", "code", "fact", "remedy", "repair"}]
    assert (well.returncode, well.stdout) == (0, "Nothing is wrong.\n")


@once
def test_history_is_pruned_as_the_page_says(acme: Tenant) -> None:
    job = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=acme, actor=None)
    past(job, YEAR)
    kept = past(job, timedelta(days=1))

    pruned = typed(block_with(LOOKING_AFTER, "manage.py prune"))

    assert pruned.returncode == 0, pruned.stderr
    assert pruned.stdout.startswith("Pruned: 1 executions")
    assert list(Execution.objects.all()) == [kept]


@once
def test_a_simulation_reports_what_the_page_says_and_leaves_nothing_behind() -> None:
    asked = block_with(LOOKING_AFTER, "manage.py simulate")
    brief = asked.replace("--rate 200 --seconds 60", "--rate 20 --seconds 3")
    assert brief != asked

    with everything(DEMO="true", RETRY_BASE="0.1") as process:
        ready_address(process)
        simulated = typed(brief)

    assert simulated.returncode == 0, simulated.stderr
    for words in (" jobs created; ", " COMPLETED", "Started late by: p50 ", "Removed "):
        assert words in simulated.stdout
    assert not Job.objects.exists() and not Execution.objects.exists() and not Tenant.objects.exists()


@once
def test_the_pages_schedules_are_planned_applied_and_exported(acme: Tenant, tmp_path: Path) -> None:
    page = section(LOOKING_AFTER, "Schedules as code")
    text = block_with(page, "set: billing")
    (tmp_path / "schedules.yaml").write_text(text, encoding="utf-8")
    rows = {
        act: (command, status) for command, act, status in re.findall(r"(?m)^\| `(.* (\w+) FILE)` .* \| (.*) \|$", page)
    }

    def call(act: str, file: str, **env: str) -> tuple[int, str]:
        done = typed(f"python {rows[act][0].replace('FILE', str(tmp_path / file))}", **env)
        assert str(done.returncode) in re.findall(r"\d", rows[act][1]), done.stderr
        return done.returncode, done.stdout + done.stderr

    assert list(rows) == ["plan", "apply", "export"]
    status, told = call("plan", "schedules.yaml")
    assert status == 1 and "BILLING_TOKEN" in told, "what the environment does not have"
    token = {"BILLING_TOKEN": "Bearer of-billing"}
    status, told = call("plan", "schedules.yaml", **token)
    assert status == 2 and "1 to create, 0 to change, 0 to delete." in told
    assert call("apply", "schedules.yaml", **token)[0] == 0
    status, told = call("plan", "schedules.yaml", **token)
    assert status == 0 and told == "0 to create, 0 to change, 0 to delete.\n"
    assert call("export", "exported.yaml")[0] == 0

    exported = (tmp_path / "exported.yaml").read_text(encoding="utf-8")
    [wanted], [found] = yaml.safe_load(text)["jobs"], yaml.safe_load(exported)["jobs"]
    assert "of-billing" not in exported and "••••••" in exported
    del wanted["payload"]
    assert {name: found.get(name) for name in wanted} == wanted
    assert Job.objects.get().tags == ["billing", "managed:billing"]


@on_postgresql
def test_executions_are_put_into_partitions_as_the_page_says(database: str) -> None:
    assert typed("python manage.py migrate --verbosity 0", DATABASE_URL=database).returncode == 0

    done = typed(block_with(SCALING, "manage.py partitions convert"), DATABASE_URL=database)

    assert done.returncode == 0, done.stdout + done.stderr
    converted, tended, *shown = done.stdout.splitlines()
    assert tended == "Made: none, there are enough."
    assert [line.partition(":")[0] for line in shown] == MADE.findall(converted)
    assert len(shown) == 9, "the first, seven days ahead as the page says, and the default one"


@once
def test_who_asks_as_the_page_shows_is_told_as_the_page_shows(fleet: Fleet, mailserver) -> None:
    [(curl, answer), *_] = steps(section(ALERTS, "Who is told"))
    notices = section(ALERTS, "What a notice looks like")
    mail, webhook = block_with(notices, "Subject: "), json.loads(block_with(notices, '"punctual.alert"'))
    receiver = MisbehavingServer()
    fleet.start("watcher")

    with web_alone(HTTP_ALLOWED_HOSTS=INSIDE) as address:
        person = Person(address)
        acme = Tenant.objects.get()
        Tenant.objects.update(name="Acme")
        made = typed(curl.replace("localhost:8000", address.removeprefix("http://")), TOKEN=person.token)
        hook: dict[str, Any] = {"name": "On call", "channel": "webhook", "url": receiver.url("/fine")}
        person.ask("POST", "/api/v1/alerts", hook | {"kinds": ["missed"]})
        job = services.create_job(
            NewJob("send_email", MAIL, HOURLY, name="Nightly report", tags=["billing"]), tenant=acme, actor=None
        )
        due_at(job, timezone.now())
        eventually(lambda: mailserver.inbox and receiver.heard)
    receiver.stop()

    compare(read_answer(answer), json.loads(made.stdout), curl)
    [came] = mailserver.inbox
    assert plain(f"Subject: {came['Subject']}\n\n{came.get_content()}").split() == plain(mail).split()
    compare(webhook, json.loads(receiver.heard[0].body), "the webhook of the page")
