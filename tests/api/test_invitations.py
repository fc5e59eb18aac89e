"""Invitations: from an owner, to an address, for a while."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import override_settings
from django.utils import timezone

from accounts import inviting
from accounts.inviting import NoSuchInvitation
from accounts.models import Invitation, Membership
from tests.conftest import client_of
from tests.engine.system import together

pytestmark = pytest.mark.django_db

ACCEPT = "/api/v1/invitations/accept"


@pytest.fixture
def invitations(team) -> str:
    return f"/api/v1/tenants/{team.pk}/invitations"


@pytest.fixture
def invite(api, invitations):
    def send(email: str = "charlie@example.com", **options) -> str:
        answer = api.post(invitations, {"email": email} | options)
        assert answer.status_code == 201
        return answer.json()["token"]

    return send


def test_whoever_has_the_address_and_the_token_joins(invite, charlie, team) -> None:
    of_charlie = client_of(charlie)
    assert of_charlie.get("/api/v1/jobs", headers={"x-tenant-id": str(team.pk)}).status_code == 403

    answer = of_charlie.post(ACCEPT, {"token": invite("Charlie@Example.com", role="viewer")})

    assert answer.status_code == 200 and answer.json()["role"] == "viewer" and answer.json()["id"] == str(team.pk)
    assert of_charlie.get("/api/v1/jobs", headers={"x-tenant-id": str(team.pk)}).status_code == 200


def test_a_token_is_mailed_to_the_address_and_stored_as_a_hash(api, invitations) -> None:
    shown = api.post(invitations, {"email": "dora@example.com"}).json()

    [sent] = mail.outbox
    assert shown["mailed"] is True and sent.to == ["dora@example.com"]
    mailed = re.search(r"^ {4}([^\s/]+)$", sent.body, re.M)[1]
    assert f"/invitation?token={mailed}\n" in sent.body
    assert shown["token"] not in sent.body, "the owner's token proves nothing about who reads the address"
    for token in (mailed, shown["token"]):
        assert token not in str(vars(Invitation.objects.get()))
    [listed] = api.get(invitations).json()["results"]
    assert listed["email"] == "dora@example.com" and "token" not in listed and "digest" not in listed


def test_a_tenants_name_adds_no_lines_to_the_mail(api, team, invitations) -> None:
    api.patch(f"/api/v1/tenants/{team.pk}", {"name": "Alice\n\nYour account is locked.\u2028Open attacker.example\n\n"})

    api.post(invitations, {"email": "dora@example.com"})

    first, *_ = mail.outbox[0].body.splitlines()
    assert first.endswith("to Alice Your account is locked. Open attacker.example on Punctual, as member.")


@override_settings(EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=9)
def test_an_invitation_stands_also_where_the_mail_server_is_away(api, invitations, charlie) -> None:
    answer = api.post(invitations, {"email": "charlie@example.com"})

    assert answer.status_code == 201 and answer.json()["mailed"] is False
    assert client_of(charlie).post(ACCEPT, {"token": answer.json()["token"]}).status_code == 200


def test_a_token_is_no_use_to_whoever_has_another_address(invite, charlie, team) -> None:
    token = invite("dora@example.com")

    answer = client_of(charlie).post(ACCEPT, {"token": token})

    assert answer.status_code == 403 and "dora" not in answer.content.decode()
    assert not Membership.objects.filter(user=charlie, tenant=team).exists()


def test_an_invitation_is_accepted_once(invite, charlie, team) -> None:
    token = invite()
    client_of(charlie).post(ACCEPT, {"token": token})
    Membership.objects.filter(user=charlie, tenant=team).delete()

    assert client_of(charlie).post(ACCEPT, {"token": token}).status_code == 404
    assert not Membership.objects.filter(user=charlie, tenant=team).exists()


@pytest.mark.django_db(transaction=True)
def test_of_several_who_accept_at_once_one_does(invite, charlie, team) -> None:
    token = invite()
    joined: list[bool] = []

    def accept() -> None:
        try:
            inviting.accept(token, user=charlie)
            joined.append(True)
        except NoSuchInvitation:
            joined.append(False)

    together(accept, count=4)

    assert sorted(joined) == [False, False, False, True]
    assert Membership.objects.filter(user=charlie, tenant=team).count() == 1


def test_an_invitation_past_its_time_or_withdrawn_is_none(api, invite, invitations, charlie) -> None:
    late, withdrawn = invite(), invite()
    old, new = Invitation.objects.order_by("created_at")
    Invitation.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    assert api.delete(f"{invitations}/{new.pk}").status_code == 204
    assert api.delete(f"{invitations}/{new.pk}").status_code == 404
    for token in (late, withdrawn, "nonsense"):
        assert client_of(charlie).post(ACCEPT, {"token": token}).status_code == 404
    assert api.get(invitations).json()["results"] == []


def test_who_belongs_already_stays_what_they_are(invite, bob, team) -> None:
    answer = client_of(bob).post(ACCEPT, {"token": invite("bob@example.com", role="owner")})

    assert answer.status_code == 200 and answer.json()["role"] == "member"


def test_members_invite_nobody(bob, invitations) -> None:
    of_bob = client_of(bob)

    assert of_bob.post(invitations, {"email": "charlie@example.com"}).status_code == 403
    assert of_bob.get(invitations).status_code == 403
    assert of_bob.delete(f"{invitations}/nonsense").status_code == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "email"),
        ({"email": "nowhere"}, "email"),
        ({"email": "a@b.c\nBcc: x@example.com"}, "email"),
        ({"email": "a@example.com", "role": "king"}, "role"),
        ({"email": "a@example.com", "tenant": "x"}, "tenant"),
    ],
)
def test_a_bad_invitation_names_the_field(api, invitations, body, field) -> None:
    answer = api.post(invitations, body)

    assert answer.status_code == 400 and [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": "x" * 201}, {"token": 7.5, "x": 1}, []])
def test_nonsense_accepts_nothing(api, body) -> None:
    assert api.post(ACCEPT, body).status_code == 400


def test_invitations_without_end_are_refused(api, invite, invitations, monkeypatch) -> None:
    monkeypatch.setattr(inviting, "MOST_OPEN", 1)
    invite()

    answer = api.post(invitations, {"email": "dora@example.com"})

    assert answer.status_code == 403 and answer.json()["quota"]["name"] == "open_invitations"
