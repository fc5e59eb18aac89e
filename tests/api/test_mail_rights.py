"""In production, mail goes out for tenants that somebody answers for, from whom they may, and not without end."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlsafe_base64_encode

from accounts import mail_rates, passwords, posting
from accounts.keys import create_key
from accounts.models import Bucket, Membership, Tenant, User
from accounts.services import register
from accounts.teams import create_tenant
from execution.destinations import MustWait
from execution.handlers.send_email import send_email
from execution.registry import InvalidPayload, Run, registry
from execution.retry import GiveUpNow
from execution.run import Seat
from jobs import services
from jobs.models import Execution, Job
from jobs.services import NewJob
from jobs.states import Status
from scheduler_project.doctor.trust import mail_without_verified_owner
from tests.alerting import rule_of
from tests.conftest import PASSWORD, client_of, key_client
from tests.contracts.buckets import LONG

pytestmark = pytest.mark.django_db

MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}
JOBS = "/api/v1/jobs"
REMEDY = "verified email address"


@pytest.fixture(autouse=True)
def production(settings) -> None:
    settings.MAIL_NEEDS_VERIFIED_OWNER = True


def verify(user: User) -> None:
    user.note_verified(user.email)


def send(*payloads: dict[str, Any], tenant: Tenant) -> list[Any]:
    read = registry.get("send_email").read
    runs = [Run(uuid4(), 1, tenant.pk, Seat()) for _ in payloads]
    return list(send_email([read(MAIL | payload) for payload in payloads], runs))


def answer_for_all(payloads: list[dict[str, Any]], tenant: Tenant) -> None:
    """As executors do: they ask for each answer, and go on with nothing after the last."""
    read = registry.get("send_email").read
    answers = send_email([read(one) for one in payloads], [Run(uuid4(), 1, tenant.pk, Seat()) for _ in payloads])
    assert all(next(answers)["recipients"] for _ in payloads)
    answers.close()


def test_a_password_reset_makes_nobody_answer_for_what_a_stranger_registered(db, rf) -> None:
    stranger = register(username="mallory", email="victim@example.com", password=PASSWORD)
    key = create_key(tenant=stranger.tenants.get(), creator=stranger, name="kept", scopes=["read", "write"])
    mailed = f"{urlsafe_base64_encode(str(stranger.pk).encode())}.{default_token_generator.make_token(stranger)}"

    passwords.reset(rf.post("/reset-password"), mailed, new="the victim's battery")

    answer = key_client(key.text).post(JOBS, {"task": "send_email", "payload": MAIL})
    assert answer.status_code == 403 and REMEDY in answer.json()["detail"]


class TestVerification:
    def test_a_tenant_without_a_verified_owner_has_no_job_that_mails(self, api, alice) -> None:
        refused = api.post(JOBS, {"task": "send_email", "payload": MAIL})
        other = api.post(JOBS, {"task": "http_request", "payload": {"url": "https://example.com"}})
        verify(alice)

        assert refused.status_code == 403 and REMEDY in refused.json()["detail"]
        assert other.status_code == 201, "other tasks are nobody's mail"
        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 201

    def test_in_bulk_those_that_mail_are_refused_with_one_question(self, api, django_assert_max_num_queries) -> None:
        wanted = [{"task": "send_email", "payload": MAIL}] * 50

        with django_assert_max_num_queries(10):
            answer = api.post(f"{JOBS}/bulk", {"jobs": wanted})

        results = answer.json()["results"]
        assert len(results) == 50 and all(REMEDY in one["errors"]["task"] for one in results)

    def test_no_edit_turns_a_job_into_one_that_mails(self, api) -> None:
        made = api.post(JOBS, {"task": "http_request", "payload": {"url": "https://example.com"}}).json()

        answer = api.patch(f"{JOBS}/{made['id']}", {"task": "send_email", "payload": MAIL})

        assert answer.status_code == 403 and REMEDY in answer.json()["detail"]

    def test_an_execution_of_before_sends_nothing_and_says_why(self, team, settings) -> None:
        [answer] = send({}, tenant=team)

        assert isinstance(answer, GiveUpNow) and REMEDY in str(answer)
        assert mail.outbox == []

    def test_an_owner_answers_for_a_tenant_and_a_member_does_not(self, api, alice, bob, team) -> None:
        verify(bob)
        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 403

        Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.OWNER)
        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 201

        User.objects.filter(pk=bob.pk).update(is_active=False)
        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 403

    def test_a_superuser_answers_for_their_tenant(self, api, alice, team) -> None:
        User.objects.filter(pk=alice.pk).update(is_superuser=True)

        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 201
        assert send({}, tenant=team)[0]["recipients"]

    def test_two_users_without_an_address_verify_nothing(self, api, alice) -> None:
        User.objects.filter(pk=alice.pk).update(email="")  # as empty as what is verified

        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 403

    def test_invitations_and_alerts_by_mail_need_a_verified_owner_too(self, api, alice, team) -> None:
        rule = rule_of(team, channel="webhook", url="https://example.com/hook", emails=[])
        by_mail = {"channel": "email", "emails": ["you@example.com"]}

        def asked() -> list[int]:
            return [
                api.post(f"/api/v1/tenants/{team.pk}/invitations", {"email": "dora@example.com"}).status_code,
                api.post("/api/v1/alerts", {"name": "x", **by_mail}).status_code,
                api.patch(f"/api/v1/alerts/{rule.pk}", by_mail).status_code,
            ]

        assert asked() == [403, 403, 403] and mail.outbox == []
        verify(alice)
        assert asked() == [201, 201, 200]

    def test_the_admins_form_says_why_a_job_that_mails_is_refused(self, team) -> None:
        client = Client()
        client.force_login(User.objects.create_superuser("root", "root@example.com", "correct horse battery"))
        made = {
            "name": "New",
            "tenant": str(team.pk),
            "task": "send_email",
            "payload": json.dumps(MAIL),
            "priority": "5",
        }

        page = client.post("/admin/jobs/job/add/", made).content.decode()

        assert REMEDY in page and not Job.objects.exists()

    def test_the_forms_that_replay_an_edited_mail_say_why_it_is_refused(self, alice, team, settings) -> None:
        settings.MAIL_NEEDS_VERIFIED_OWNER = False
        job = services.create_job(NewJob("send_email", MAIL), tenant=team, actor=None)
        execution = services.run_job_now(job, actor=None)
        Execution.objects.update(status=Status.FAILED, finished_at=timezone.now())
        settings.MAIL_NEEDS_VERIFIED_OWNER = True
        admin = reverse("admin:jobs_execution_edit_and_replay", args=[execution.pk])
        root = User.objects.create_superuser("root", "root@example.com", "correct horse battery")

        for user, address in ((alice, f"/executions/{execution.pk}/replay-edited"), (root, admin)):
            client = Client()
            client.force_login(user)
            assert REMEDY in client.post(address, {"payload": json.dumps(MAIL)}).content.decode()
        assert Execution.objects.dead().count() == 1

    def test_nobodys_address_is_flooded_by_accounts_that_strangers_register_for_it(self, settings, monkeypatch) -> None:
        settings.EMAIL_PROOFS = 2
        monkeypatch.setattr("accounts.attempts.HOUR", LONG)

        statuses = []
        for n in range(4):
            new = {"username": f"x{n}", "email": "victim@example.com", "password": "correct horse battery"}
            statuses.append(client_of(None).post("/api/v1/auth/register", new).status_code)
        posting.wait_until_posted()

        assert statuses == [201] * 4 and len(mail.outbox) == 2

    def test_without_production_nobody_is_asked_for_it(self, api, team, settings) -> None:
        settings.MAIL_NEEDS_VERIFIED_OWNER = False

        assert api.post(JOBS, {"task": "send_email", "payload": MAIL}).status_code == 201
        assert send({}, tenant=team)[0]["recipients"]

    def test_whoever_registers_is_mailed_the_link_that_verifies(self, settings) -> None:
        new = {"username": "dora", "email": "dora@example.com", "password": "correct horse battery"}
        assert client_of(None).post("/api/v1/auth/register", new).status_code == 201
        posting.wait_until_posted()

        [sent] = mail.outbox
        assert sent.to == ["dora@example.com"] and "/account/verify?token=" in sent.body

    def test_the_doctor_names_tenants_whose_mail_is_refused_and_an_operator_vouches(
        self, alice, team, settings
    ) -> None:
        settings.MAIL_NEEDS_VERIFIED_OWNER = False
        services.create_job(NewJob("send_email", MAIL, {"type": "interval", "seconds": 60}), tenant=team, actor=alice)
        assert mail_without_verified_owner() == []
        settings.MAIL_NEEDS_VERIFIED_OWNER = True

        [found] = mail_without_verified_owner()
        call_command("verify_address", "alice", stdout=StringIO())

        assert team.name in found.fact and "verify_address" in found.remedy
        assert mail_without_verified_owner() == []

    @pytest.mark.parametrize("name", ["nobody", "without"])
    def test_an_operator_vouches_for_nobody_who_has_no_address(self, name) -> None:
        User.objects.create_user("without")

        with pytest.raises(CommandError):
            call_command("verify_address", name)


class TestNames:
    @pytest.fixture
    def shop(self, alice, team) -> Tenant:
        verify(alice)
        team.senders = ["shop@example.com", "@example.org"]
        team.save()
        return team

    def test_a_tenant_without_senders_of_its_own_chooses_no_name(self, alice, team) -> None:
        verify(alice)

        [answer] = send({"from_name": "Your Bank"}, tenant=team)

        assert isinstance(answer, GiveUpNow) and "may not choose from_name" in str(answer)
        assert mail.outbox == []

    @pytest.mark.parametrize(
        "name",
        [
            "Your Bank <service@bank.com>",
            "service@bank.com",
            "service @ bank.com",
            "service＠bank.com",
            "service﹫bank.com",
            "shop@example.com.evil.com",
            "shop@example.com, ceo@bank.com",
            "@bank.com",
        ],
    )
    def test_no_name_has_an_address_that_the_tenant_may_not_send_from(self, shop, settings, name) -> None:
        for needed in (True, False):
            settings.MAIL_NEEDS_VERIFIED_OWNER = needed
            [answer] = send({"from_name": name}, tenant=shop)
            assert isinstance(answer, GiveUpNow) and "may not send from" in str(answer)
        assert mail.outbox == []

    @pytest.mark.parametrize("name", ["The Shop", "Shop <shop@example.com>", "anyone@example.org", "Ünïcode, Inc."])
    def test_a_tenant_with_senders_chooses_its_name(self, shop, name) -> None:
        [answer] = send({"from_name": name}, tenant=shop)

        assert answer["recipients"]

    @pytest.mark.parametrize(
        "name", ["=?utf-8?q?Bank_=3Cceo=40bank.com=3E?=", "Bank\u202emoc.knab", "Ba\u200bnk", "a\tb", "x\x7f"]
    )
    def test_a_name_that_reads_differently_than_it_is_written_is_refused(self, name) -> None:
        with pytest.raises(InvalidPayload) as refused:
            registry.get("send_email").read(MAIL | {"from_name": name})

        assert "from_name" in refused.value.errors


class TestRates:
    @pytest.fixture(autouse=True)
    def verified(self, alice, settings, monkeypatch) -> None:
        verify(alice)
        settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT = 4, 0
        monkeypatch.setattr(mail_rates, "HOUR", LONG)

    @staticmethod
    def waits(answers: list[Any]) -> list[bool]:
        return [isinstance(answer, MustWait) for answer in answers]

    def test_over_its_rate_a_tenants_mails_wait_each_at_a_place_of_its_own(self, team) -> None:
        answers = send(*[{}] * 7, tenant=team)

        assert self.waits(answers) == [False] * 4 + [True] * 3 and len(mail.outbox) == 4
        first, second, third = (answer.at for answer in answers[4:])
        between = LONG / 4
        minute = timedelta(minutes=1)
        assert abs(second - first - between) < minute and abs(third - second - between) < minute
        assert first > timezone.now()

    def test_each_recipient_counts(self, team) -> None:
        answers = send({"to": ["a@example.com", "b@example.com"], "bcc": "c@example.com"}, {}, {}, tenant=team)

        assert self.waits(answers) == [False, False, True]

    def test_one_mail_to_more_than_the_rate_goes_out_alone(self, team) -> None:
        many = {"to": [f"reader{n}@example.com" for n in range(9)]}

        assert self.waits(send(many, {}, tenant=team)) == [False, True]

    def test_one_address_is_not_flooded_and_others_are_served(self, team, settings) -> None:
        settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT = 0, 2

        answers = send({}, {"to": "YOU@example.com"}, {}, {"to": "else@example.com"}, tenant=team)

        assert self.waits(answers) == [False, False, True, False]

    def test_an_address_is_not_flooded_from_many_tenants_of_one_owner(self, alice, charlie, team, settings) -> None:
        settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT = 0, 2
        verify(charlie)
        second = create_tenant(name="second", owner=alice).tenant

        assert self.waits(send({}, {}, tenant=team)) == [False, False]
        assert self.waits(send({}, {"to": "else@example.com"}, tenant=second)) == [True, False]
        assert self.waits(send({}, tenant=charlie.tenants.get())) == [False]
        User.objects.filter(pk=alice.pk).update(is_superuser=True)  # may own the tenants of several customers
        assert self.waits(send({}, {}, {}, tenant=second)) == [False, False, True]

    def test_tenants_of_one_owner_share_a_rate_unless_a_tenant_has_its_own(self, alice, team, settings) -> None:
        settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT = 1, 0
        second, trusted = (create_tenant(name=name, owner=alice).tenant for name in ("second", "trusted"))
        Tenant.objects.filter(pk=trusted.pk).update(mail_rate=2)

        assert self.waits(send({}, tenant=team)) == [False]
        assert self.waits(send({}, tenant=second)) == [True]
        assert self.waits(send({}, {}, {}, tenant=trusted)) == [False, False, True]

    def test_a_mail_that_waits_takes_nothing_from_its_other_recipients(self, team, settings) -> None:
        settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT = 0, 1
        send({"to": "full@example.com"}, tenant=team)

        others = [f"free{n}@example.com" for n in range(10)]  # they are asked for in no order that a test knows
        for _ in range(3):
            [waiting] = send({"to": ["full@example.com", *others]}, tenant=team)
            assert isinstance(waiting, MustWait)

        assert self.waits(send({"to": others}, tenant=team)) == [False]

    def test_a_tenants_own_rate_comes_first_and_takes_nothing_from_others(self, team, charlie) -> None:
        verify(charlie)
        team.mail_rate = 1
        team.save()

        assert self.waits(send({}, {}, tenant=team)) == [False, True]
        assert self.waits(send(*[{}] * 5, tenant=charlie.tenants.get())) == [False] * 4 + [True]

    def test_addresses_are_not_kept_and_their_buckets_go(self, team, settings) -> None:
        settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT = 0, 100
        send(*({"to": f"reader{n}@example.com"} for n in range(30)), tenant=team)
        assert Bucket.objects.count() == 30
        assert not any("reader" in bucket.name for bucket in Bucket.objects.all())

        Bucket.objects.update(full_at=0)  # long full again
        batches = [[MAIL | {"to": f"other{n}@example.com"} for n in range(8)] for _ in range(2)]
        for batch in batches:
            answer_for_all(batch, team)

        assert Bucket.objects.count() == 8

    def test_invitations_without_end_are_told_to_wait(self, api, team, settings, monkeypatch) -> None:
        settings.INVITATION_RATE, settings.INVITATION_RATE_PER_RECIPIENT = 3, 2
        monkeypatch.setattr("accounts.attempts.HOUR", LONG)

        def invite(name: str) -> Any:
            return api.post(f"/api/v1/tenants/{team.pk}/invitations", {"email": f"{name}@example.com"})

        assert [invite("dora").status_code for _ in range(3)] == [201, 201, 429]
        assert [invite(name).status_code for name in ("erik", "fred")] == [201, 429]
        assert int(invite("fred")["Retry-After"]) > 0 and len(mail.outbox) == 3

    def test_another_tenant_of_the_same_user_brings_no_further_invitations(self, api, settings, monkeypatch) -> None:
        settings.INVITATION_RATE = 2
        monkeypatch.setattr("accounts.attempts.HOUR", LONG)
        tenants = [api.post("/api/v1/tenants", {"name": f"t{n}"}).json()["id"] for n in range(3)]

        statuses = [
            api.post(f"/api/v1/tenants/{tenant}/invitations", {"email": f"x{n}@example.com"}).status_code
            for n, tenant in enumerate(tenants)
        ]

        assert statuses == [201, 201, 429]

    def test_alert_rules_are_not_tested_without_end(self, api, team, settings, monkeypatch) -> None:
        settings.INVITATION_RATE = 2
        monkeypatch.setattr("accounts.attempts.HOUR", LONG)
        rule = rule_of(team)

        assert [api.post(f"/api/v1/alerts/{rule.pk}/test").status_code for _ in range(3)] == [202, 202, 429]
