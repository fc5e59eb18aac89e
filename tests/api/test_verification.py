"""Addresses are verified by what was mailed to them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import posting
from accounts.models import EmailProof, User
from tests.conftest import client_of
from tests.contracts.buckets import LONG
from tests.engine.system import together

pytestmark = pytest.mark.django_db

ASK, VERIFY, ACCOUNT = "/api/v1/auth/email/verification", "/api/v1/auth/email/verify", "/api/v1/auth/account"


def mailed_to(user: User) -> str:
    """The token that this user asks for, as the mail has it."""
    mail.outbox.clear()
    answer = client_of(user).post(ASK)
    posting.wait_until_posted()
    assert answer.status_code == 202 and user.email in answer.json()["detail"]
    [sent] = mail.outbox
    assert sent.to == [user.email]
    return re.search(r"account/verify\?token=(\S+)", sent.body)[1]


def verified(user: User) -> bool:
    return client_of(user).get(ACCOUNT).json()["email_verified"]


def test_a_mailed_token_verifies_the_address_once(alice) -> None:
    token = mailed_to(alice)
    assert not verified(alice)

    assert client_of(alice).post(VERIFY, {"token": token}).json()["email_verified"] is True
    assert client_of(alice).post(VERIFY, {"token": token}).status_code == 400
    assert verified(alice)


def test_a_token_is_stored_as_a_hash(alice) -> None:
    token = mailed_to(alice)

    assert token not in str(EmailProof.objects.values_list())


def test_a_token_verifies_for_nobody_but_the_user_it_was_mailed_for(alice, charlie) -> None:
    token = mailed_to(alice)

    assert APIClient().post(VERIFY, {"token": token}).status_code == 401
    assert client_of(charlie).post(VERIFY, {"token": token}).status_code == 400
    assert not verified(alice) and not verified(charlie)


def test_a_token_past_its_time_or_replaced_by_another_verifies_nothing(alice) -> None:
    first, second = mailed_to(alice), mailed_to(alice)
    assert client_of(alice).post(VERIFY, {"token": first}).status_code == 400
    EmailProof.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client_of(alice).post(VERIFY, {"token": second}).status_code == 400
    assert not verified(alice)


def test_a_token_verifies_the_address_that_it_went_to_and_no_other(alice) -> None:
    token = mailed_to(alice)
    User.objects.filter(pk=alice.pk).update(email="victim@example.com")

    client_of(alice).post(VERIFY, {"token": token})

    assert not verified(alice)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_bring_a_token_at_once_one_is_told_that_it_was_used(alice) -> None:
    token, statuses = mailed_to(alice), []

    together(lambda: statuses.append(client_of(alice).post(VERIFY, {"token": token}).status_code), count=2)

    assert sorted(statuses) == [200, 400]


def test_nobody_has_links_mailed_without_end(alice, settings, monkeypatch) -> None:
    settings.EMAIL_PROOFS = 2
    monkeypatch.setattr("accounts.attempts.HOUR", LONG)

    assert [client_of(alice).post(ASK).status_code for _ in range(3)] == [202, 202, 429]


def test_a_user_without_an_address_is_told_what_to_do(alice) -> None:
    User.objects.filter(pk=alice.pk).update(email="")

    answer = client_of(alice).post(ASK)

    assert answer.status_code == 400 and "Ask an administrator" in answer.json()["detail"]


def test_the_pages_lead_from_the_account_to_a_verified_address(alice) -> None:
    client = Client()
    client.force_login(alice)
    assert "not verified" in client.get("/account").content.decode()
    client.post("/account/verification")
    posting.wait_until_posted()
    link = re.search(r"http://testserver(\S+)", mail.outbox[-1].body)[1]

    signed_out = Client().get(link)
    client.get(link)
    assert "not verified" in client.get("/account").content.decode(), "opening a link changes nothing"
    client.post("/account/verify", {"token": link.partition("token=")[2]})

    assert signed_out.url.startswith("/sign-in?next="), "a stranger who is sent the link verifies nothing"
    assert "not verified" not in client.get("/account").content.decode()


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": 7}, {"token": None}, {"token": "x" * 201}, []])
def test_nonsense_verifies_nothing(alice, body) -> None:
    assert client_of(alice).post(VERIFY, body).status_code == 400
