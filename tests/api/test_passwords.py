"""Passwords: changed by their owner, reset by mail, and every session ended when they say so."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import mail
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from accounts import passwords, posting
from accounts.models import TokenFamily, User
from accounts.tokens import SignInAgain, sign_in
from tests.conftest import PASSWORD
from tests.contracts.buckets import LONG
from tests.engine.system import together

pytestmark = pytest.mark.django_db

NEW = "another horse battery"
CHANGE, RESET = "/api/v1/auth/password", "/api/v1/auth/password/reset"
EVERYWHERE = "/api/v1/auth/logout/everywhere"


def bearer(access: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {access}")
    return client


def opens(access: str) -> bool:
    return bearer(access).get("/api/v1/jobs").status_code == 200


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def test_a_user_changes_their_password_and_every_other_session_ends(alice) -> None:
    here, elsewhere, browser = sign_in(alice), sign_in(alice), browser_of(alice)

    answer = bearer(here.access).post(CHANGE, {"current_password": PASSWORD, "new_password": NEW})

    assert answer.status_code == 200 and opens(answer.json()["access"])
    assert not opens(here.access) and not opens(elsewhere.access) and not is_signed_in(browser)
    alice.refresh_from_db()
    assert alice.check_password(NEW)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"current_password": "wrong", "new_password": NEW}, "current_password"),
        ({"current_password": PASSWORD, "new_password": "short"}, "new_password"),
        ({"current_password": PASSWORD, "new_password": "alice@example.com"}, "new_password"),
        ({"current_password": PASSWORD}, "new_password"),
        ({"current_password": PASSWORD, "new_password": {"$ne": ""}}, "new_password"),
        ({"current_password": PASSWORD, "new_password": NEW, "user": 1}, "user"),
    ],
)
def test_a_bad_change_names_the_field_and_changes_nothing(alice, body, field) -> None:
    access = sign_in(alice).access

    answer = bearer(access).post(CHANGE, body)

    assert answer.status_code == 400 and field in [error["field"] for error in answer.json()["errors"]]
    assert opens(access)
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_a_password_that_is_disabled_ends_every_session_and_token(alice, client) -> None:
    pair, browser = sign_in(alice), browser_of(alice)
    client.force_login(User.objects.create_superuser("root", "root@example.com", PASSWORD))
    disabled = {"usable_password": "false", "password1": "", "password2": "", "unset-password": "Disable"}

    client.post(reverse("admin:auth_user_password_change", args=[alice.pk]), disabled)

    alice.refresh_from_db()
    assert not alice.has_usable_password() and not alice.token_families.exists()
    assert not opens(pair.access) and not is_signed_in(browser)


def test_a_stolen_session_guesses_the_password_no_more_often_than_a_stranger(alice, settings) -> None:
    settings.LOGIN_ATTEMPTS, settings.LOGIN_PERIOD = 2, LONG
    client, browser = bearer(sign_in(alice).access), browser_of(alice)
    guess = {"current_password": "wrong", "new_password": NEW}

    statuses = [client.post(CHANGE, guess).status_code for _ in range(3)]
    page = browser.post("/account/password", {"current_password": PASSWORD, "new_password": NEW})

    assert statuses == [400, 400, 429]
    assert "Too many attempts" in page.content.decode()


def test_a_user_changes_their_password_on_the_dashboard_and_stays_signed_in_there(alice) -> None:
    here, elsewhere = browser_of(alice), browser_of(alice)

    wrong = here.post("/account/password", {"current_password": "wrong", "new_password": NEW})
    right = here.post("/account/password", {"current_password": PASSWORD, "new_password": NEW})

    assert "incorrect" in wrong.content.decode() and right.status_code == 302
    assert is_signed_in(here) and not is_signed_in(elsewhere)


def test_the_admins_page_for_it_is_the_same_page(alice) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)

    assert browser_of(alice).get("/admin/password_change/").url == "/account/password"


def test_a_password_that_was_checked_before_it_changed_begins_no_session_afterwards(alice) -> None:
    checked = User.objects.get(pk=alice.pk)
    alice.set_password(NEW)
    alice.save()

    with pytest.raises(SignInAgain):
        sign_in(checked)


def test_a_change_does_not_undo_a_reset_that_came_after_the_check(alice, rf, monkeypatch) -> None:
    def validated_while_reset(new: str, user: User) -> None:
        owner = User.objects.get(pk=user.pk)
        owner.set_password(NEW)
        owner.save()

    monkeypatch.setattr(passwords, "validate_password", validated_while_reset)

    with pytest.raises(passwords.WrongPassword):
        passwords.change(rf.post("/"), alice, current=PASSWORD, new="a thief's battery")

    alice.refresh_from_db()
    assert alice.check_password(NEW)


def test_a_password_that_changes_again_at_once_gives_no_tokens_and_no_error_of_the_server(alice, monkeypatch) -> None:
    def change_twice(request, user: User, **sent: str) -> User:
        changed = User.objects.get(pk=user.pk)
        alice.set_password(NEW)
        alice.save()
        return changed

    client = bearer(sign_in(alice).access)
    monkeypatch.setattr(passwords, "change", change_twice)

    answer = client.post(CHANGE, {"current_password": PASSWORD, "new_password": NEW})

    assert answer.status_code == 401


def test_signing_out_everywhere_ends_every_token_and_session_at_once(alice, charlie) -> None:
    pairs, browser, other = [sign_in(alice), sign_in(alice)], browser_of(alice), sign_in(charlie)

    assert bearer(pairs[0].access).post(EVERYWHERE).status_code == 204

    assert not any(opens(pair.access) for pair in pairs) and not is_signed_in(browser)
    assert APIClient().post("/api/v1/auth/token/refresh", {"refresh": pairs[1].refresh}).status_code == 401
    assert opens(other.access), "of nobody else"
    assert is_signed_in(browser_of(User.objects.get(pk=alice.pk)))


def test_the_dashboards_button_signs_out_everywhere(alice) -> None:
    here, elsewhere, pair = browser_of(alice), browser_of(alice), sign_in(alice)

    here.post("/account/sign-out-everywhere")

    assert not is_signed_in(here) and not is_signed_in(elsewhere) and not opens(pair.access)


def test_an_upgrade_ends_no_session(alice) -> None:
    assert alice.get_session_auth_hash() == super(User, alice).get_session_auth_hash()


class TestReset:
    """Of what is committed: mails are written by a thread of their own."""

    pytestmark = pytest.mark.django_db(transaction=True)

    @staticmethod
    def ask(email: str = "alice@example.com") -> object:
        answer = APIClient().post(RESET, {"email": email})
        posting.wait_until_posted()
        return answer

    @staticmethod
    def token() -> str:
        return re.search(r"reset-password\?token=(\S+)", mail.outbox[-1].body)[1]

    @staticmethod
    def use(token: str, password: str = NEW) -> int:
        body = {"token": token, "new_password": password}
        return APIClient().post(f"{RESET}/confirm", body).status_code

    def test_a_forgotten_password_is_reset_once_and_every_session_ends(self, alice) -> None:
        pair, browser = sign_in(alice), browser_of(alice)
        self.ask("Alice@Example.com")
        [sent] = mail.outbox
        token = self.token()

        assert sent.to == ["alice@example.com"]
        assert self.use(token) == 204
        assert self.use(token, "a third horse battery") == 400
        alice.refresh_from_db()
        assert alice.check_password(NEW) and not alice.has_verified_address
        assert not opens(pair.access) and not is_signed_in(browser)

    def test_of_two_who_bring_a_token_at_once_one_resets(self, alice) -> None:
        self.ask()
        token, ended = self.token(), []

        together(lambda: ended.append(self.use(token)), count=2)

        assert sorted(ended) == [204, 400]

    def test_the_answer_and_the_work_are_the_same_whoever_has_the_address(self, alice, charlie) -> None:
        User.objects.filter(pk=charlie.pk).update(is_active=False)
        self.ask("somebody.before@example.com")
        answers, work = set(), set()

        for email in ("alice@example.com", "nobody@example.com", "charlie@example.com"):
            with CaptureQueriesContext(connection) as asked:
                answer = APIClient().post(RESET, {"email": email})
            answers.add((answer.status_code, answer.content))
            work.add(len(asked))
        posting.wait_until_posted()

        assert len(answers) == len(work) == 1
        assert [sent.to for sent in mail.outbox] == [["alice@example.com"]]

    def test_a_token_expires_and_ends_with_a_new_password_or_address(self, alice, monkeypatch) -> None:
        self.ask()
        token = self.token()
        now = PasswordResetTokenGenerator._now

        monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda self: now(self) + timedelta(days=2))
        assert self.use(token) == 400
        monkeypatch.undo()
        User.objects.filter(pk=alice.pk).update(email="new@example.com")
        assert self.use(token) == 400
        User.objects.filter(pk=alice.pk).update(email="alice@example.com")
        alice.set_password("yet another battery")
        alice.save()
        assert self.use(token) == 400

    def test_a_weak_password_is_refused_and_the_token_stays(self, alice) -> None:
        self.ask()
        token = self.token()

        assert self.use(token, "short") == 400
        assert self.use(token) == 204

    def test_nobody_is_flooded_with_reset_mails_and_nobody_asks_without_end(self, alice, settings) -> None:
        settings.PASSWORD_RESETS, settings.PASSWORD_RESETS_PER_ADDRESS, settings.PASSWORD_RESET_PERIOD = 2, 4, LONG

        statuses = [self.ask().status_code for _ in range(4)] + [self.ask("nobody@example.com").status_code]

        assert statuses == [202] * 4 + [429]
        assert len(mail.outbox) == 2

    def test_an_address_that_only_looks_alike_gets_no_link(self, alice) -> None:
        self.ask("al\u0131ce@example.com")  # a dotless i, which some databases take for an i

        assert mail.outbox == []

    def test_the_pages_lead_from_the_sign_in_to_a_new_password(self, alice) -> None:
        client = Client()
        assert 'href="/forgot-password"' in client.get("/sign-in").content.decode()

        asked = client.post("/forgot-password", {"email": "alice@example.com"}).content.decode()
        posting.wait_until_posted()
        page = client.get("/reset-password", {"token": self.token()}).content.decode()
        ended = client.post("/reset-password", {"token": self.token(), "new_password": NEW})

        assert "Ask an administrator" in asked, "no mail server is configured"
        assert "alice" in page and ended.url == "/sign-in"
        alice.refresh_from_db()
        assert alice.check_password(NEW)


@pytest.mark.parametrize("token", ["", ".", "MQ.x", "nonsense", "\x00.\x00", "é.ü", f"{'9' * 150}.x", "x" * 200])
def test_a_token_that_resets_nothing_is_refused(db, token) -> None:
    answer = APIClient().post(f"{RESET}/confirm", {"token": token, "new_password": NEW})

    assert answer.status_code == 400
    assert Client().get("/reset-password", {"token": token}).status_code in (400, 403)


@pytest.mark.parametrize(
    "body", [{}, {"email": "nowhere"}, {"email": 7}, {"email": None}, [], {"email": "a@b.c", "x": 1}]
)
def test_a_bad_request_for_a_reset_is_refused(db, body) -> None:
    assert APIClient().post(RESET, body).status_code == 400


def test_the_page_says_what_to_do_where_no_mail_server_is_configured(db, settings) -> None:
    assert "Ask an administrator" in Client().get("/forgot-password").content.decode()
    settings.EMAIL_URL = "smtp://mail"
    assert "Ask an administrator" not in Client().get("/forgot-password").content.decode()


def test_a_token_that_was_refused_leaves_the_sessions(alice) -> None:
    sign_in(alice)
    with pytest.raises(passwords.BadResetToken):
        passwords.reset(HttpRequest(), "nonsense", new=NEW)

    assert TokenFamily.objects.count() == 1
