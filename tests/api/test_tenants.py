"""Tenants and the people in them."""

from __future__ import annotations

import pytest
from django.test import Client, override_settings
from rest_framework.test import APIClient

from accounts.inviting import invite
from accounts.models import Membership
from accounts.teams import LastOwner, remove_member
from tests.conftest import client_of
from tests.engine.system import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def members(team) -> str:
    return f"/api/v1/tenants/{team.pk}/members"


def role_of(user, team) -> str | None:
    return Membership.objects.filter(user=user, tenant=team).values_list("role", flat=True).first()


def test_whoever_creates_a_tenant_owns_it_and_can_speak_for_it(api, alice, team) -> None:
    made = api.post("/api/v1/tenants", {"name": "Payments"})

    assert made.status_code == 201 and made.json()["role"] == "owner"
    listed = api.get("/api/v1/tenants").json()["results"]
    assert [one["name"] for one in listed] == ["alice", "Payments"]
    headers = {"x-tenant-id": made.json()["id"]}
    assert api.get("/api/v1/jobs", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": 7}, {"name": "x" * 151}, {"name": None}, {"name": "a", "id": 1}, []]
)
def test_a_bad_tenant_is_refused(api, body) -> None:
    assert api.post("/api/v1/tenants", body).status_code == 400


def test_owners_rename_a_tenant_and_others_do_not(api, bob, team) -> None:
    path = f"/api/v1/tenants/{team.pk}"

    assert api.patch(path, {"name": "Us"}).json()["name"] == "Us"
    assert client_of(bob).patch(path, {"name": "Mine"}).status_code == 403
    assert client_of(bob).get(path).json()["name"] == "Us"


@override_settings(TENANTS_PER_USER=2)
def test_tenants_without_end_are_refused_with_the_remedy(api) -> None:
    api.post("/api/v1/tenants", {"name": "second"})

    answer = api.post("/api/v1/tenants", {"name": "third"})

    assert answer.status_code == 403
    assert answer.json()["quota"] == {"name": "tenants", "limit": 2, "used": 2, "wanted": 1}


@override_settings(TENANTS_PER_USER=2)
def test_nobody_is_made_an_owner_of_more_tenants_than_they_may_create(api, alice, bob, team, members) -> None:
    of_bob = client_of(bob)
    second = of_bob.post("/api/v1/tenants", {"name": "second"}).json()["id"]

    answer = api.patch(f"{members}/{bob.pk}", {"role": "owner"})
    assert answer.status_code == 403 and answer.json()["quota"]["name"] == "tenants"
    assert role_of(bob, team) == "member"

    remove_member(bob.memberships.get(tenant=team), bob.pk)
    invited = invite(alice.memberships.get(), email=bob.email, role="owner", link=str)
    answer = of_bob.post("/api/v1/invitations/accept", {"token": invited.token})
    assert answer.status_code == 403 and answer.json()["quota"]["name"] == "tenants"
    browser = Client()
    browser.force_login(bob)
    assert "tenants is 2" in browser.post("/invitation", {"token": invited.token}).content.decode()
    assert role_of(bob, team) is None

    Membership.objects.filter(user=bob, tenant=second).delete()
    assert of_bob.post("/api/v1/invitations/accept", {"token": invited.token}).json()["role"] == "owner"


def test_members_are_listed_for_members(bob, alice, members) -> None:
    listed = client_of(bob).get(members).json()["results"]

    assert [(one["user"], one["username"], one["role"]) for one in listed] == [
        (alice.pk, "alice", "owner"),
        (bob.pk, "bob", "member"),
    ]


def test_an_owner_changes_roles_and_the_role_counts_at_once(api, bob, team, members) -> None:
    answer = api.patch(f"{members}/{bob.pk}", {"role": "viewer"})

    assert answer.status_code == 200 and answer.json()["role"] == "viewer"
    assert client_of(bob, team).post("/api/v1/jobs", {"task": "send_email"}).status_code == 403


@pytest.mark.parametrize("body", [{"role": "king"}, {"role": None}, {"role": "owner", "user": 1}])
def test_a_bad_role_is_refused(api, bob, members, body) -> None:
    assert api.patch(f"{members}/{bob.pk}", body).status_code == 400


def test_a_change_of_nothing_changes_nothing(api, bob, team, members) -> None:
    assert api.patch(f"{members}/{bob.pk}", {}).json()["role"] == "member"
    assert api.patch(f"/api/v1/tenants/{team.pk}", {}).json()["name"] == "alice"


def test_members_change_and_remove_nobody_but_may_leave(alice, bob, team, members) -> None:
    of_bob = client_of(bob)

    assert of_bob.patch(f"{members}/{alice.pk}", {"role": "viewer"}).status_code == 403
    assert of_bob.patch(f"{members}/{bob.pk}", {"role": "owner"}).status_code == 403
    assert of_bob.delete(f"{members}/{alice.pk}").status_code == 403
    assert of_bob.delete(f"{members}/{bob.pk}").status_code == 204
    assert role_of(bob, team) is None and role_of(alice, team) == "owner"
    assert of_bob.get(members).status_code == 404


def test_the_last_owner_stays(api, alice, bob, team, members) -> None:
    for answer in (api.delete(f"{members}/{alice.pk}"), api.patch(f"{members}/{alice.pk}", {"role": "member"})):
        assert answer.status_code == 409 and "last owner" in answer.json()["detail"]

    api.patch(f"{members}/{bob.pk}", {"role": "owner"})

    assert api.delete(f"{members}/{alice.pk}").status_code == 204
    assert role_of(alice, team) is None and role_of(bob, team) == "owner"


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_once_one_stays(alice, bob, team) -> None:
    Membership.objects.filter(tenant=team).update(role=Membership.Role.OWNER)
    leaving = list(Membership.objects.filter(tenant=team))
    told: list[LastOwner] = []

    def leave() -> None:
        own = leaving.pop()
        try:
            remove_member(own, own.user_id)
        except LastOwner as error:
            told.append(error)

    together(leave, count=2)

    assert len(told) == 1
    assert Membership.objects.filter(tenant=team).count() == 1


def test_charlie_finds_nothing_of_alices_tenant(alice, bob, charlie, team, members) -> None:
    of_charlie, tenant = client_of(charlie), f"/api/v1/tenants/{team.pk}"

    for answer in (
        of_charlie.get(tenant),
        of_charlie.patch(tenant, {"name": "Mine"}),
        of_charlie.get(members),
        of_charlie.patch(f"{members}/{bob.pk}", {"role": "owner"}),
        of_charlie.delete(f"{members}/{bob.pk}"),
        of_charlie.get(f"{tenant}/invitations"),
        of_charlie.post(f"{tenant}/invitations", {"email": "charlie@example.com"}),
        of_charlie.get("/api/v1/tenants/nonsense"),
        of_charlie.get("/api/v1/tenants/00000000-0000-0000-0000-000000000000/members"),
    ):
        assert answer.status_code == 404
    assert [one["name"] for one in of_charlie.get("/api/v1/tenants").json()["results"]] == ["charlie"]


@pytest.mark.parametrize("user", ["0", "999999999999999999", "9" * 30, "-1", "me", "1.5"])
def test_a_member_that_does_not_exist_is_not_found(api, members, user) -> None:
    assert api.patch(f"{members}/{user}", {"role": "viewer"}).status_code == 404
    assert api.delete(f"{members}/{user}").status_code == 404


def test_strangers_see_no_tenant(team, members) -> None:
    for path in ("/api/v1/tenants", members, "/api/v1/keys"):
        assert APIClient().get(path).status_code == 401


@pytest.mark.parametrize("cursor", ["nonsense", "cD1ub25zZW5zZQ==", "cD0yMDI2LTEzLTQ1KzEwOjAw"])
def test_a_cursor_that_is_none_of_ours_is_refused(api, members, cursor) -> None:
    assert api.get(members, {"cursor": cursor}).status_code == 400


def test_members_come_in_pages(api, alice, bob, members) -> None:
    first = api.get(members, {"page_size": 1}).json()
    second = api.get(first["next"]).json()

    assert [one["username"] for one in first["results"] + second["results"]] == ["alice", "bob"]
    assert second["next"] is None
