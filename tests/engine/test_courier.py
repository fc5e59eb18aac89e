"""Notices over a real mail server and to a real web server: they arrive, signed, and none is lost or doubled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import OperationalError, connection
from standardwebhooks.webhooks import Webhook

from accounts import mail_rates
from accounts.models import Bucket, User
from execution.outbound.signing import spell_secret
from execution.outbound.tenant_keys import secret_of
from jobs.alerts import rules
from jobs.alerts.courier import AT_ONCE
from jobs.alerts.delivery import deliver
from jobs.alerts.operators import BY_MAIL, keep_contacts
from jobs.alerts.pinging import Ping
from jobs.models import AlertRule, Notice
from tests.alerting import HOURLY, MINUTE, SECOND, Watched, due_at, rule_of
from tests.contracts.buckets import LONG
from tests.engine.system import together
from tests.misbehaving import MisbehavingServer
from tests.whole.mailserver import MailServer, taking_mail
from tests.whole.processes import eventually

OWN = spell_secret(b"own secret of this rule " * 2)


@pytest.fixture
def mailserver(settings) -> Iterator[MailServer]:
    with taking_mail(settings) as server:
        yield server


@pytest.fixture
def receiver(settings) -> Iterator[MisbehavingServer]:
    server = MisbehavingServer()
    settings.HTTP_ALLOWED_HOSTS = (f"127.0.0.1:{server.port}",)
    yield server
    server.stop()


@pytest.fixture
def missed(new_job, watched: Watched) -> Any:
    """A job that misses its time, once rules have been made."""
    return lambda: due_at(new_job(HOURLY, name="Nightly report"), watched.time - 40 * SECOND)


def hook(tenant: Any, receiver: MisbehavingServer, path: str = "/fine", **more: Any) -> AlertRule:
    return rule_of(tenant, channel="webhook", emails=[], url=receiver.url(path), **more)


def test_a_mail_names_the_job_and_the_due_time(watched, missed, team, mailserver) -> None:
    rule_of(team, emails=["oncall@example.com", "boss@example.com"])
    job = missed()
    [notice] = watched.look()

    assert watched.deliver() == 1

    [mail] = mailserver.inbox
    assert mailserver.envelopes == [["oncall@example.com", "boss@example.com"]]
    assert mail["Subject"] == f"[Punctual] Missed: Nightly report, due {job.next_run_at:%Y-%m-%d %H:%M:%S} UTC"
    assert str(job.pk) in mail.get_content() and "On call" in mail.get_content()
    assert mail["Auto-Submitted"] == "auto-generated" and mail["X-Idempotency-Key"] == str(notice.pk)
    notice.refresh_from_db()
    assert notice.sent_at and notice.try_at is None and notice.error == ""
    assert watched.deliver() == 0


@pytest.mark.parametrize("own", [True, False])
def test_a_webhook_is_signed_with_the_rules_secret_or_the_tenants(own, watched, missed, team, receiver) -> None:
    hook(team, receiver, **({"secret": OWN} if own else {}))
    job = missed()
    [notice] = watched.look()

    watched.deliver()

    [heard] = receiver.heard
    body = Webhook(OWN if own else secret_of(team.pk)).verify(heard.body, heard.headers)
    assert heard.headers["idempotency-key"] == heard.headers["webhook-id"] == str(notice.pk)
    assert body["type"] == "punctual.alert" and body["data"]["notice"] == str(notice.pk)
    [line] = body["data"]["incidents"]
    assert (line["job"], line["since"]) == (str(job.pk), job.next_run_at.isoformat())


def test_the_settings_webhook_is_signed_with_the_settings_secret(watched, missed, receiver, settings) -> None:
    settings.ALERT_WEBHOOK, settings.ALERT_WEBHOOK_SECRET = receiver.url("/fine"), OWN
    missed()
    watched.look()

    watched.deliver()

    [heard] = receiver.heard
    assert Webhook(OWN).verify(heard.body, heard.headers)["data"]["tenant"] is None


def test_a_notice_that_is_not_taken_is_tried_again_later_with_the_same_key(watched, missed, team, mailserver) -> None:
    rule_of(team)
    missed()
    [notice] = watched.look()
    mailserver.refusals = 2
    courier = watched.courier()

    watched.deliver(courier)
    assert watched.deliver(courier) == 0  # not at once
    notice.refresh_from_db()
    assert "451" in notice.error and notice.try_at > watched.time
    for _ in range(2):
        watched.time += MINUTE
        watched.deliver(courier)

    [mail] = mailserver.inbox
    assert mail["X-Idempotency-Key"] == str(notice.pk) and mailserver.refused == 2


def test_a_notice_that_nobody_ever_takes_is_given_up_and_the_rule_says_so(watched, missed, team, receiver) -> None:
    rule = hook(team, receiver, "/broken")
    missed()
    watched.look()
    courier = watched.courier()
    for _ in range(10):
        watched.deliver(courier)
        watched.time += MINUTE

    assert len(receiver.heard) == 4  # the first try and three retries
    [rule] = rules.with_latest_notices([rule])
    assert rule.latest_notice.try_at is None and rule.latest_notice.sent_at is None
    assert "500" in rule.latest_notice.error


def test_a_target_inside_is_refused_also_if_it_was_allowed_when_the_rule_was_made(
    watched, missed, team, receiver, settings
) -> None:
    hook(team, receiver)
    settings.HTTP_ALLOWED_HOSTS = ()
    missed()
    [notice] = watched.look()

    watched.deliver()

    notice.refresh_from_db()
    assert receiver.connections == 0
    assert notice.try_at is None and "HTTP_ALLOWED_HOSTS" in notice.error


def test_one_that_died_between_deciding_and_sending_has_lost_nothing(watched, missed, team, mailserver) -> None:
    rule_of(team)
    missed()
    watched.look()  # and it dies: what it decided is a row

    watched.deliver()

    assert len(mailserver.inbox) == 1


def test_one_that_died_while_sending_leaves_it_to_the_next(watched, missed, team, mailserver) -> None:
    rule_of(team)
    missed()
    [notice] = watched.look()
    assert notice.take(watched.time + timedelta(minutes=5))  # and it dies

    courier = watched.courier()
    assert watched.deliver(courier) == 0
    watched.time += timedelta(minutes=6)
    assert watched.deliver(courier) == 1

    assert [mail["X-Idempotency-Key"] for mail in mailserver.inbox] == [str(notice.pk)]


def test_one_that_comes_back_from_the_dead_does_not_speak_for_the_next(watched, missed, team) -> None:
    rule_of(team)
    missed()
    [mine] = watched.look()
    theirs = Notice.objects.get(pk=mine.pk)
    mine.take(watched.time)
    theirs.refresh_from_db()
    theirs.take(watched.time + MINUTE)
    theirs.sent(watched.time)

    mine.failed("too late", watched.time)

    mine.refresh_from_db()
    assert mine.sent_at and mine.try_at is None and mine.error == ""


def test_any_number_of_couriers_deliver_each_notice_once(watched, missed, team, mailserver) -> None:
    for number in range(12):
        rule_of(team, emails=[f"{number}@example.com"])
    missed()
    assert len(watched.look()) == 12

    couriers = iter([watched.courier() for _ in range(4)])
    together(lambda: watched.deliver(next(couriers)))

    assert sorted(to for [to] in mailserver.envelopes) == sorted(f"{number}@example.com" for number in range(12))


def test_a_receiver_that_hangs_holds_up_no_other(watched, missed, team, receiver, mailserver, monkeypatch) -> None:
    monkeypatch.setattr("jobs.alerts.delivery.TIMEOUT", 1.0)
    for _ in range(8):
        hook(team, receiver, "/silent")
    rule_of(team)
    missed()
    watched.look()

    watched.deliver()

    assert len(mailserver.inbox) == 1
    assert Notice.objects.filter(error__contains="time of 1 s was up").count() == 8


def test_the_settings_go_first_and_then_all_tenants_in_turn(watched, team, charlie, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    keep_contacts(watched.time)
    alices, charlies = rule_of(team), rule_of(charlie.tenants.get())
    of_settings = AlertRule.objects.get(pk=BY_MAIL)
    first, second, third, theirs, everybodys = (
        Notice.objects.create(rule=rule, content={}, created_at=watched.time, try_at=watched.time + age * SECOND)
        for age, rule in enumerate([alices, alices, alices, charlies, of_settings])
    )
    watched.time += MINUTE

    assert list(Notice.objects.due(watched.time)) == [everybodys, first, theirs, second, third]
    under_way = {team.pk: AT_ONCE - 1}  # by which Alice has had her turns
    assert list(Notice.objects.due(watched.time, under_way)) == [everybodys, theirs, first, second, third]


def test_more_receivers_that_hang_than_there_are_places_hold_up_nobody_elses_notices(
    watched, team, charlie, receiver, mailserver, monkeypatch
) -> None:
    monkeypatch.setattr("jobs.alerts.delivery.TIMEOUT", 60.0)
    theirs = charlie.tenants.get()
    many = AT_ONCE + 4
    for rule in [hook(team, receiver, "/silent") for _ in range(many)] + [rule_of(theirs) for _ in range(many)]:
        rules.send_test(rule, actor=None)
    watched.time += MINUTE
    courier = watched.courier()

    def all_of_theirs_are_sent() -> bool:
        courier.tick()
        return not Notice.objects.filter(rule__tenant=theirs, sent_at=None).exists()

    eventually(all_of_theirs_are_sent)

    assert len(mailserver.inbox) == many
    hanging = Notice.objects.filter(rule__tenant=team, attempts__gt=0)
    assert hanging.count() >= AT_ONCE // 2 and not hanging.exclude(error="").exists()
    receiver.stop()


def test_a_notice_is_not_sent_again_because_the_database_was_away_for_a_moment(
    watched, missed, team, mailserver
) -> None:
    rule_of(team)
    missed()
    [notice] = watched.look()
    away = Event()

    def deliver_and_lose_the_database(*args: Any, **options: Any) -> str:
        try:
            return deliver(*args, **options)
        finally:
            away.set()

    def ask(execute: Any, *args: Any) -> Any:
        if away.is_set():
            raise OperationalError("the database is away")
        return execute(*args)

    courier = watched.courier(deliver_and_lose_the_database)
    with connection.execute_wrapper(ask):
        for _ in range(2):
            with pytest.raises(OperationalError):
                watched.deliver(courier)
    watched.time += timedelta(minutes=6)

    assert watched.deliver(courier) == 0
    assert len(mailserver.inbox) == 1
    notice.refresh_from_db()
    assert notice.sent_at == watched.time and notice.attempts == 1


def test_an_end_that_can_never_be_written_holds_up_no_other(watched, team, mailserver) -> None:
    for _ in range(2):
        rules.send_test(rule_of(team), actor=None)
    watched.time += MINUTE
    poisoned = Notice.objects.due(watched.time).first()

    def deliver_or_complain(notice: Notice, **options: Any) -> Any:
        return object() if notice == poisoned else deliver(notice, **options)

    assert watched.deliver(watched.courier(deliver_or_complain)) == 2

    assert Notice.objects.exclude(sent_at=None).count() == 1


def test_a_rule_that_is_switched_off_sends_nothing_more(watched, missed, team, mailserver) -> None:
    rule = rule_of(team)
    missed()
    [notice] = watched.look()

    rules.update_rule(rule, {"enabled": False}, actor=None)

    assert watched.deliver() == 0
    notice.refresh_from_db()
    assert (notice.try_at, notice.sent_at, notice.error) == (None, None, "The rule was switched off.")


@pytest.mark.parametrize("arrives", [True, False])
def test_a_try_that_was_under_way_when_the_rule_was_switched_off_is_the_last(arrives, watched, missed, team) -> None:
    rule = rule_of(team)
    missed()
    [notice] = watched.look()
    assert notice.take(watched.time + MINUTE)
    rules.update_rule(rule, {"enabled": False}, actor=None)

    if arrives:
        notice.sent(watched.time)
    else:
        notice.failed("451", watched.time)

    notice.refresh_from_db()
    assert notice.try_at is None and bool(notice.sent_at) == arrives
    assert notice.error == ("" if arrives else "The rule was switched off.")


def test_a_test_is_sent_whatever_the_pause_and_not_twice(watched, team, mailserver) -> None:
    rule = rule_of(team)

    first, second = (rules.send_test(rule, actor=None) for _ in range(2))
    watched.time += MINUTE
    watched.deliver()

    assert first == second
    [mail] = mailserver.inbox
    assert mail["Subject"] == "[Punctual] Test of the alert On call"


def test_a_name_with_a_line_break_makes_no_header(watched, new_job, team, mailserver) -> None:
    rule_of(team)
    due_at(new_job(HOURLY, name="Report\r\nBcc: everybody@example.com"), watched.time - 40 * SECOND)
    watched.look()

    watched.deliver()

    [mail] = mailserver.inbox
    assert mail["Bcc"] is None and mailserver.envelopes == [["oncall@example.com"]]


def test_the_watcher_says_that_it_is_there_and_goes_on_when_nobody_hears_it(receiver, settings, watched) -> None:
    watched.watcher.ping = Ping(receiver.url("/fine"), MINUTE)
    for _ in range(3):
        watched.look(after=30 * SECOND)
    assert [one.method for one in receiver.heard] == ["GET", "GET"]

    watched.watcher.ping = Ping(receiver.url("/closes-at-once"), MINUTE)
    watched.look()
    watched.look(after=MINUTE)
    assert len(receiver.heard) == 4


def test_a_test_notice_is_told_apart_by_its_type(watched, team, receiver) -> None:
    rules.send_test(hook(team, receiver), actor=None)
    watched.time += MINUTE

    watched.deliver()

    assert json.loads(receiver.heard[0].body)["type"] == "punctual.test"


def test_notices_by_mail_count_among_the_tenants_mails_and_wait_uncounted(
    watched, missed, team, mailserver, settings, monkeypatch
) -> None:
    settings.MAIL_RATE = 1
    monkeypatch.setattr(mail_rates, "HOUR", LONG)
    for name in ("first", "second"):
        rule_of(team, name=name)
    missed()
    assert len(watched.look()) == 2

    watched.deliver()
    watched.deliver()

    assert len(mailserver.inbox) == 1
    waiting = Notice.objects.get(sent_at=None)
    assert waiting.attempts == 0 and waiting.try_at > watched.time and "mail rate" in waiting.error
    Bucket.objects.all().delete()
    watched.time = waiting.try_at
    watched.deliver()
    assert len(mailserver.inbox) == 2


def test_a_tenant_that_may_no_longer_mail_sends_no_notices_either(
    watched, missed, team, alice, mailserver, settings
) -> None:
    settings.MAIL_NEEDS_VERIFIED_OWNER = True
    alice.note_verified(alice.email)
    rule_of(team)
    missed()
    assert watched.look()
    User.objects.filter(pk=alice.pk).update(is_active=False)

    watched.deliver()

    [notice] = Notice.objects.all()
    assert mailserver.inbox == [] and notice.try_at is None and "verified email address" in notice.error
