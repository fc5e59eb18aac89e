"""Acts in the admin: asked about, done through the services, and the outcome of each told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.services import register_admin
from jobs import services
from jobs.alerts.operators import keep_contacts
from jobs.models import AlertRule, AuditEvent, Execution, Incident, Job
from jobs.services import NewJob
from jobs.states import Cause, JobStatus, Status
from tests.alerting import Watched, due_at, rule_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
LIST = "admin:jobs_job_changelist"


@pytest.fixture
def root(client):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


def new_job(team, name: str = "Hourly") -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name=name), tenant=team, actor=None)


@pytest.fixture
def job(team) -> Job:
    return new_job(team)


def choose(client, action: str, *jobs: Job, **more: str):
    chosen = {"action": action, "_selected_action": [str(job.pk) for job in jobs]}
    return client.post(reverse(LIST), chosen | more)


@pytest.mark.parametrize(
    ("action", "status"),
    [("pause", JobStatus.PAUSED), ("cancel", JobStatus.CANCELLED), ("run", JobStatus.ACTIVE)],
)
def test_a_bulk_act_is_asked_about_and_is_then_an_act_of_the_person(root, job, action, status) -> None:
    asked = choose(root, action, job)

    assert "Hourly" in asked.content.decode() and not AuditEvent.objects.filter(actor__username="root").exists()
    assert asked.context["chosen"] == [job]

    done = choose(root, action, job, confirmed="yes")

    job.refresh_from_db()
    assert job.status == status and done.context["done"] == 1
    assert AuditEvent.objects.filter(job=job, actor__username="root").count() == 1


def test_the_outcome_of_each_is_told_also_of_those_that_were_refused(root, team) -> None:
    paused, active = new_job(team, "Paused one"), new_job(team, "Active one")
    services.pause_job(paused, actor=None)

    page = choose(root, "resume", paused, active, confirmed="yes")

    outcomes = {str(outcome.subject): outcome for outcome, _ in page.context["outcomes"]}
    assert outcomes["Paused one"].done and "resumed" in outcomes["Paused one"].said
    assert not outcomes["Active one"].done and "Only a paused job can be resumed" in outcomes["Active one"].said
    assert page.context["done"] == 1


def test_nothing_is_deleted_past_the_services(root, job) -> None:
    choose(root, "delete_selected", job, post="yes")

    assert Job.objects.kept().filter(pk=job.pk).exists()


def act(client, one, name: str, method: str = "post"):
    address = reverse(f"admin:jobs_{one._meta.model_name}_act", args=[one.pk, name])
    return getattr(client, method)(address, follow=True)


def test_a_button_of_the_page_acts_and_says_so(root, job) -> None:
    page = act(root, job, "pause")

    job.refresh_from_db()
    assert job.status == JobStatus.PAUSED and "paused" in page.content.decode()


def test_looking_at_an_act_does_nothing(root, job) -> None:
    page = act(root, job, "cancel", method="get")

    job.refresh_from_db()
    assert page.status_code == 200 and job.status == JobStatus.ACTIVE
    assert "cannot be taken back" in page.content.decode()


def test_an_act_that_is_refused_says_why(root, job) -> None:
    assert "Only a paused job can be resumed" in act(root, job, "resume").content.decode()


@pytest.mark.parametrize("name", ["explode", "delete"])
def test_an_act_that_there_is_not_is_not_found(root, job, name) -> None:
    assert act(root, job, name).status_code == 404


def test_only_acts_that_make_sense_are_offered(root, job) -> None:
    address = reverse("admin:jobs_job_change", args=[job.pk])
    offered = [one.name for one in root.get(address).context["acts"]]
    services.cancel_job(job, actor=None)

    assert offered == ["run", "pause", "cancel"]
    assert root.get(address).context["acts"] == []


def test_an_execution_that_waits_is_cancelled_from_its_page(root, job) -> None:
    execution = services.run_job_now(job, actor=None)

    act(root, execution, "cancel")

    execution.refresh_from_db()
    assert execution.status == Status.CANCELLED


def backfill(client, job, start, end, **more: str):
    shown = "%Y-%m-%dT%H:%M"
    asked = {"start": start.strftime(shown), "end": end.strftime(shown), "rate": "600"}
    return client.post(reverse("admin:jobs_job_backfill", args=[job.pk]), asked | more)


def test_a_backfill_is_tried_dry_before_it_is_made(root, life) -> None:
    begun = life.now
    job = life.create(HOURLY)
    life.pause().after(hours=4, minutes=30).resume()

    dry = backfill(root, job, begun, life.now)

    assert len(dry.context["planned"].due_times) == 5 and not Execution.objects.exists()
    assert "Make 5 executions" in dry.content.decode()

    made = backfill(root, job, begun, life.now, confirmed="yes")

    assert made.status_code == 302
    assert Execution.objects.filter(cause=Cause.BACKFILL).count() == 5
    assert AuditEvent.objects.get(action="backfill").actor.username == "root"


def test_a_backfill_of_what_is_to_come_is_refused_beside_its_field(root, job) -> None:
    now = timezone.now()

    page = backfill(root, job, now, now + timedelta(days=1))

    assert "is not past yet" in page.context["form"].errors["end"][0]


def test_rules_are_switched_off_and_on_and_tested_with_an_event_each(root, team) -> None:
    rule = rule_of(team)
    address = reverse("admin:jobs_alertrule_changelist")

    for act in ("switch_off", "switch_on", "send_test"):
        answer = root.post(address, {"action": act, "_selected_action": [str(rule.pk)]})
        assert answer.status_code == 302, answer.content

    rule.refresh_from_db()
    assert rule.enabled and rule.notices.get().content["test"]
    acts = AuditEvent.objects.filter(job=None, actor__username="root").order_by("id").values_list("action", flat=True)
    assert list(acts) == ["update_alert", "update_alert", "test_alert"]
    event = AuditEvent.objects.get(action="test_alert")
    for page in (
        reverse("admin:jobs_auditevent_changelist"),
        reverse("admin:jobs_auditevent_change", args=[event.pk]),
        reverse("admin:jobs_alertrule_change", args=[rule.pk]),
    ):
        assert root.get(page).status_code == 200


def test_a_rule_is_added_changed_and_deleted_through_the_services(root, team) -> None:
    add = reverse("admin:jobs_alertrule_add")
    assert (
        root.get(add).status_code == 200
        and "Add alert rule" in root.get(reverse("admin:jobs_alertrule_changelist")).content.decode()
    )
    wanted = {"name": "Ops", "tenant": team.pk, "kinds": ["failed"], "channel": "email", "pause": "60", "enabled": "on"}

    refused = root.post(add, wanted | {"emails": "nowhere"})
    assert refused.status_code == 200 and "emails" in refused.context["adminform"].form.errors
    assert "nowhere" in refused.content.decode() and not AlertRule.objects.exists()
    assert root.post(add, wanted | {"emails": "a@example.com\nb@example.com"}).status_code == 302
    rule = AlertRule.objects.get()
    assert rule.emails == ["a@example.com", "b@example.com"] and rule.kinds == ["failed"] and rule.tenant == team

    change = reverse("admin:jobs_alertrule_change", args=[rule.pk])
    assert "a@example.com" in root.get(change).content.decode()
    assert root.post(change, wanted | {"emails": "a@example.com", "pause": "120"}).status_code == 302
    rule.refresh_from_db()
    assert (rule.emails, rule.pause, rule.name) == (["a@example.com"], 120, "Ops")
    assert root.post(reverse("admin:jobs_alertrule_delete", args=[rule.pk]), {"post": "yes"}).status_code == 302
    assert not AlertRule.objects.exists()
    acts = AuditEvent.objects.order_by("id").values_list("action", flat=True)
    assert list(acts) == ["create_alert", "update_alert", "delete_alert"]


def test_rules_of_the_settings_are_not_changed_here(root, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    keep_contacts(timezone.now())
    [rule] = AlertRule.objects.all()

    root.post(reverse("admin:jobs_alertrule_changelist"), {"action": "switch_off", "_selected_action": [str(rule.pk)]})

    change, delete = (reverse(f"admin:jobs_alertrule_{act}", args=[rule.pk]) for act in ("change", "delete"))
    assert root.get(change).status_code == 200 and root.post(change, {"name": "x"}).status_code == 403
    assert root.post(delete, {"post": "yes"}).status_code == 403
    rule.refresh_from_db()
    assert rule.enabled and not AuditEvent.objects.exists()


def test_incidents_are_listed_and_each_has_a_page(root, job) -> None:
    watched = Watched()
    due_at(job, watched.time - timedelta(minutes=1))
    watched.look()
    watched.look(after=timedelta(minutes=1), without=("poller",))
    watched.look(after=timedelta(minutes=1), without=("poller",))

    listed = root.get(reverse("admin:jobs_incident_changelist"), {"kind__exact": "missed"}).content.decode()
    pages = [reverse("admin:jobs_incident_change", args=[one.pk]) for one in Incident.objects.all()]

    assert "Hourly" in listed and "No poller is running" not in listed
    assert "No poller is running" in root.get(reverse("admin:jobs_incident_changelist")).content.decode()
    assert [root.get(page).status_code for page in pages] == [200] * len(pages) and len(pages) >= 2


def test_rules_of_a_tenant_that_may_not_mail_are_refused_with_the_reason(root, team, settings) -> None:
    rule = rule_of(team)
    settings.MAIL_NEEDS_VERIFIED_OWNER = True
    address = reverse("admin:jobs_alertrule_changelist")
    wanted = {"name": "Ops", "tenant": team.pk, "kinds": ["failed"], "channel": "email", "pause": "60", "enabled": "on"}

    added = root.post(reverse("admin:jobs_alertrule_add"), wanted | {"emails": "a@example.com"})
    assert "verified email address" in added.context["adminform"].form.errors["emails"][0]
    for act in ("send_test", "switch_on"):
        told = root.post(address, {"action": act, "_selected_action": [str(rule.pk)]}, follow=True)
        assert "verified email address" in told.content.decode()
    assert not rule.notices.exists()
