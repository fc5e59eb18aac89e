"""Registration is open, by invitation, or closed, as the setting says."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.core import mail
from django.test import Client
from rest_framework.test import APIClient

from accounts.api.serializers import RegistrationSerializer
from accounts.models import Membership, Tenant, User
from tests.conftest import PASSWORD
from tests.contracts.buckets import LONG
from tests.whole.processes import typed

pytestmark = pytest.mark.django_db

REGISTER = "/api/v1/auth/register"
DORA = {"username": "dora", "email": "dora@example.com", "password": PASSWORD}


def register(**more: str) -> object:
    return APIClient().post(REGISTER, DORA | more)


def hidden(page: str, name: str) -> str:
    return re.search(rf'type="hidden" name="{name}" value="([^"]+)"', page)[1]


@pytest.fixture
def tokens(api, team) -> tuple[str, str]:
    """The mailed token of an invitation, and the one that the owner was shown."""
    answer = api.post(f"/api/v1/tenants/{team.pk}/invitations", {"email": DORA["email"]})
    assert answer.status_code == 201
    return re.search(r"token=(\S+)", mail.outbox[-1].body)[1], answer.json()["token"]


@pytest.mark.parametrize(("mode", "remedy"), [("invited", "Ask an owner"), ("closed", "Ask an administrator")])
def test_a_stranger_cannot_register_where_registration_is_not_open(db, settings, mode, remedy) -> None:
    settings.REGISTRATION = mode

    answer = register()
    page = Client().post("/register", DORA)

    assert answer.status_code == 403 and remedy in answer.json()["detail"]
    assert Client().get("/register").status_code == page.status_code == 403 and remedy in page.content.decode()
    assert not User.objects.filter(username="dora").exists()


def test_a_closed_registration_admits_no_invitation_either(settings, tokens) -> None:
    settings.REGISTRATION = "closed"

    assert register(invitation=tokens[0]).status_code == 403
    assert Client().get("/register", {"invitation": tokens[0]}).status_code == 403


def test_a_refused_stranger_learns_nothing_about_usernames(alice, settings) -> None:
    settings.REGISTRATION = "invited"

    taken, free, nonsense = register(username="alice"), register(), APIClient().post(REGISTER, {"username": 7})

    assert taken.status_code == 403
    assert taken.content == free.content == nonsense.content


def test_an_invited_person_registers_and_is_a_member_at_once(settings, tokens, team) -> None:
    settings.REGISTRATION = "invited"

    answer = register(invitation=tokens[1])

    assert answer.status_code == 201
    assert Membership.objects.get(user__username="dora", tenant=team).role == "member"
    assert register(username="erik", invitation=tokens[1]).status_code == 404, "an invitation is used once"


def test_the_tenant_that_a_registration_names_is_the_personal_one_and_not_the_inviters(db) -> None:
    dora = User.objects.create_user("dora")
    personal, inviters = (Tenant.objects.create(pk=UUID(int=number), name="x") for number in (2, 1))
    for tenant in (personal, inviters):
        Membership.objects.create(user=dora, tenant=tenant)

    assert RegistrationSerializer().get_tenant(dora)["id"] == str(personal.pk)


def test_an_invitation_registers_nobody_with_another_address(settings, tokens) -> None:
    settings.REGISTRATION = "invited"

    assert register(invitation=tokens[0], email="mallory@example.com").status_code == 403
    assert not User.objects.filter(username="dora").exists()


@pytest.mark.parametrize(("which", "verified"), [(0, True), (1, False)], ids=["mailed", "shown to the owner"])
def test_only_the_mailed_token_of_an_invitation_verifies_the_address(tokens, which, verified) -> None:
    register(invitation=tokens[which])

    assert User.objects.get(username="dora").has_verified_address is verified


def test_an_address_that_changes_is_no_longer_verified(tokens) -> None:
    register(invitation=tokens[0])
    dora = User.objects.get(username="dora")

    dora.email = "victim@example.com"
    dora.save()

    assert not User.objects.get(username="dora").has_verified_address


def test_the_mailed_link_leads_an_invited_person_to_the_dashboard(settings, tokens, team) -> None:
    settings.REGISTRATION = "invited"
    link = re.search(r"http://testserver(\S+)", mail.outbox[-1].body)[1]
    client = Client()

    first = client.get(link).content.decode()
    form = client.get(re.search(r'href="(/register\?invitation=[^"]+)"', first)[1]).content.decode()
    client.post("/register", DORA | {"invitation": hidden(form, "invitation")})

    assert team.name in first and 'value="dora@example.com"' in form
    assert Membership.objects.filter(user__username="dora", tenant=team).exists()


def test_a_user_who_has_an_account_accepts_the_mailed_link_with_a_click(tokens, team) -> None:
    dora = User.objects.create_user("dora", "dora@example.com", PASSWORD)
    client = Client()
    client.force_login(dora)

    page = client.get("/invitation", {"token": tokens[0]})
    assert not dora.memberships.exists(), "opening a link changes nothing"
    client.post("/invitation", {"token": hidden(page.content.decode(), "token")})

    assert dora.memberships.get().tenant == team


@pytest.mark.parametrize("token", ["", "nonsense", "x" * 5000])
def test_a_link_that_is_not_an_invitation_says_so(db, token) -> None:
    answer = Client().get("/invitation", {"token": token})

    assert answer.status_code == 403 and "Ask for a new one" in answer.content.decode()


@pytest.mark.parametrize(("mode", "offer"), [("open", True), ("invited", False), ("closed", False)])
def test_the_sign_in_page_offers_an_account_only_where_one_can_be_had(db, settings, mode, offer) -> None:
    settings.REGISTRATION = mode

    assert ('href="/register"' in Client().get("/sign-in").content.decode()) is offer


def test_links_in_mail_begin_with_the_public_url_whatever_host_a_request_names(api, team, settings) -> None:
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "https://punctual.example.com", ["*"]

    api.post(f"/api/v1/tenants/{team.pk}/invitations", {"email": DORA["email"]}, HTTP_HOST="evil.example")

    assert "https://punctual.example.com/invitation?token=" in mail.outbox[-1].body
    assert "evil" not in mail.outbox[-1].body


def test_taken_names_are_not_probed_without_end(alice, settings) -> None:
    settings.REGISTRATIONS_PER_ADDRESS, settings.REGISTRATION_PERIOD = 3, LONG

    assert [register(username="alice").status_code for _ in range(4)] == [400, 400, 400, 429]
    assert Client().post("/register", DORA | {"username": "alice"}).status_code == 429


@pytest.mark.parametrize(("given", "mode"), [({}, "open"), ({"PRODUCTION": "true"}, "invited")])
def test_production_is_by_invitation_unless_the_setting_says_otherwise(given, mode) -> None:
    keys = {name: name * 6 for name in ("SECRET_KEY", "JWT_SIGNING_KEY", "SECRETS_KEY")}
    show = "python -c 'from scheduler_project import settings; print(settings.REGISTRATION)'"

    assert typed(show, **keys, **given).stdout.split()[-1] == mode
    assert typed(show, **keys, **given, REGISTRATION="closed").stdout.split()[-1] == "closed"
    assert "is not one of open, invited, closed" in typed(show, **keys, **given, REGISTRATION="shut").stderr
