"""What a person made for a tenant ends with the right to make it, whichever door takes that right away."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from django.test import Client
from django.urls import reverse

from accounts import inviting, tokens
from accounts.inviting import NoSuchInvitation
from accounts.keys import create_key
from accounts.models import ApiKey, Invitation, Membership, Tenant, User
from accounts.teams import create_tenant
from execution import worker_keys
from execution.models import WorkerKey
from jobs.models import AlertRule, AuditEvent
from tests.alerting import rule_of
from tests.conftest import PASSWORD, client_of, key_client

pytestmark = pytest.mark.django_db

OWNER = Membership.Role.OWNER


class Made(NamedTuple):
    """What Bob made as an owner of Alice's team."""

    api_key: str
    worker_key: str
    invitation: str

    def usable(self, charlie: User) -> set[str]:
        """Which of them still do something."""
        found = set()
        if key_client(self.api_key).get("/api/v1/jobs").status_code == 200:
            found.add("api key")
        if worker_keys.recognise(self.worker_key):
            found.add("worker key")
        try:
            inviting.accept(self.invitation, user=charlie)
            found.add("invitation")
        except NoSuchInvitation:
            pass
        return found


@pytest.fixture
def made(bob: User, team: Tenant) -> Made:
    own = bob.memberships.get(tenant=team)
    own.role = OWNER
    own.save()
    api_key = create_key(tenant=team, creator=bob, name="CI", scopes=["read", "write"]).text
    worker_key = worker_keys.make_worker_key(["resize_video"], tenant=team, owner=bob).secret
    invited = inviting.invite(own, email="charlie@example.com", role=OWNER, link=lambda token: token)
    return Made(api_key, worker_key, invited.token)


def of_bob(bob: User, team: Tenant) -> Membership:
    return bob.memberships.get(tenant=team)


def removed_over_the_api(api, bob, team) -> None:
    assert api.delete(f"/api/v1/tenants/{team.pk}/members/{bob.pk}").status_code == 204


def left_over_the_api(api, bob, team) -> None:
    assert client_of(bob).delete(f"/api/v1/tenants/{team.pk}/members/{bob.pk}").status_code == 204


def removed_in_the_admin(api, bob, team) -> None:
    _save_in_admin(bob, team, DELETE="on")


def replaced_in_the_admin(api, bob, team) -> None:
    _save_in_admin(bob, team, user=str(User.objects.create_user("dora").pk))


def removed_by_a_query(api, bob, team) -> None:
    Membership.objects.filter(user=bob, tenant=team).delete()


def deactivated(api, bob, team) -> None:
    bob.is_active = False
    bob.save()


def deactivated_by_a_query(api, bob, team) -> None:
    User.objects.filter(pk=bob.pk).update(is_active=False)


def deleted(api, bob, team) -> None:
    bob.delete()


def deleted_by_a_query(api, bob, team) -> None:
    User.objects.filter(pk=bob.pk).delete()


LEAVING = [
    removed_over_the_api,
    left_over_the_api,
    removed_in_the_admin,
    replaced_in_the_admin,
    removed_by_a_query,
    deactivated,
    deactivated_by_a_query,
    deleted,
    deleted_by_a_query,
]


def demoted_over_the_api(api, bob, team) -> None:
    assert api.patch(f"/api/v1/tenants/{team.pk}/members/{bob.pk}", {"role": "viewer"}).status_code == 200


def demoted_in_the_admin(api, bob, team) -> None:
    _save_in_admin(bob, team, role="viewer")


def demoted_by_a_query(api, bob, team) -> None:
    Membership.objects.filter(user=bob, tenant=team).update(role="viewer")


DEMOTING = [demoted_over_the_api, demoted_in_the_admin, demoted_by_a_query]
Door = Callable[..., None]


def test_what_an_owner_made_works(made, charlie) -> None:
    assert made.usable(charlie) == {"api key", "worker key", "invitation"}


@pytest.mark.parametrize("door", LEAVING, ids=lambda door: door.__name__)
def test_nothing_that_a_former_member_made_works(made, api, bob, team, charlie, door: Door) -> None:
    door(api, bob, team)

    assert made.usable(charlie) == set()


@pytest.mark.parametrize("door", DEMOTING, ids=lambda door: door.__name__)
def test_what_only_owners_make_ends_with_the_role(made, api, bob, team, charlie, door: Door) -> None:
    door(api, bob, team)

    assert made.usable(charlie) == {"api key"}
    job = {"task": "http_request", "payload": {"url": "https://example.com/"}}
    assert key_client(made.api_key).post("/api/v1/jobs", job).status_code == 403


@pytest.mark.parametrize("door", [*LEAVING[:5], deactivated, *DEMOTING[:2]], ids=lambda door: door.__name__)
def test_nothing_comes_back_with_a_new_membership(made, api, bob, team, charlie, door: Door) -> None:
    door(api, bob, team)
    User.objects.filter(pk=bob.pk).update(is_active=True)
    Membership.objects.update_or_create(user=bob, tenant=team, defaults={"role": OWNER})

    assert made.usable(charlie) <= ({"api key"} if door in DEMOTING else set())
    assert WorkerKey.objects.get().revoked_at is not None  # and the list says so


def test_a_worker_key_stays_revoked_when_its_owner_is_deleted(made, bob, team) -> None:
    Membership.objects.filter(user=bob, tenant=team).update(user=User.objects.create_user("dora"))
    bob.delete()

    assert worker_keys.recognise(made.worker_key) is None


def test_sessions_and_tokens_of_a_deactivated_user_stay_ended(bob) -> None:
    pair = tokens.sign_in(bob)
    browser = Client()
    browser.force_login(bob)
    assert browser.get("/account").status_code == 200

    bob.is_active = False
    bob.save()
    bob.is_active = True
    bob.save()

    assert browser.get("/account").status_code == 302
    with pytest.raises(tokens.SignInAgain):
        tokens.refresh(pair.refresh)


def test_a_membership_elsewhere_keeps_what_was_made_there(made, api, bob, team) -> None:
    elsewhere = bob.tenants.exclude(pk=team.pk).get()
    text = create_key(tenant=elsewhere, creator=bob, name="mine", scopes=["read"]).text
    secret = worker_keys.make_worker_key(["resize_video"], tenant=elsewhere, owner=bob).secret

    removed_over_the_api(api, bob, team)

    assert key_client(text).get("/api/v1/jobs").status_code == 200
    assert worker_keys.recognise(secret)


def test_what_others_made_for_the_tenant_stays(made, api, alice, bob, team) -> None:
    secret = worker_keys.make_worker_key(["resize_video"], tenant=team, owner=alice).secret
    of_operators = worker_keys.make_worker_key(["resize_video"], tenant=team).secret

    removed_over_the_api(api, bob, team)

    assert worker_keys.recognise(secret) and worker_keys.recognise(of_operators)


@pytest.mark.parametrize("leaving", [*LEAVING[:6], *LEAVING[7:]], ids=lambda door: door.__name__)
def test_no_alert_rule_mails_a_former_member(api, alice, bob, team, leaving) -> None:
    only_bob = rule_of(team, emails=["Bob@Example.com"])
    both = rule_of(team, emails=["alice@example.com", "bob@example.com"])
    elsewhere = rule_of(create_tenant(name="x", owner=alice).tenant, emails=["bob@example.com"])

    leaving(api, bob, team)

    for rule in (only_bob, both, elsewhere):
        rule.refresh_from_db()
    assert (both.emails, both.enabled) == (["alice@example.com"], True)
    assert (only_bob.emails, only_bob.enabled) == ([], False)
    assert (elsewhere.emails, elsewhere.enabled) == (["bob@example.com"], True)
    assert AuditEvent.objects.filter(action="update_alert", tenant=team).count() == 2


def test_an_address_that_another_member_has_too_stays_a_recipient(bob, team) -> None:
    Membership.objects.create(tenant=team, user=User.objects.create_user("twin", "BOB@example.com", PASSWORD))
    rule = rule_of(team, emails=["bob@example.com"])

    removed_by_a_query(None, bob, team)

    rule.refresh_from_db()
    assert rule.emails == ["bob@example.com"] and rule.enabled


@pytest.mark.parametrize("delete", [Tenant.delete, lambda team: Tenant.objects.filter(pk=team.pk).delete()])
def test_nothing_is_left_of_a_deleted_tenant(made, bob, team, charlie, delete) -> None:
    AlertRule.objects.create(tenant=team, name="x", kinds=[], channel="email", emails=[bob.email], pause=60)

    delete(team)

    assert made.usable(charlie) == set()
    assert not ApiKey.objects.exists() and not WorkerKey.objects.exists() and not Invitation.objects.exists()


def _save_in_admin(bob: User, team: Tenant, **change: str) -> None:
    """Save the tenant's page with a change to Bob's membership, as a browser does."""
    User.objects.create_superuser("root", "root@example.com", PASSWORD)
    client = Client()
    assert client.login(username="root", password=PASSWORD)
    form = {"name": team.name, "senders": "[]", "memberships-INITIAL_FORMS": 2, "memberships-TOTAL_FORMS": 2}
    for number, one in enumerate(team.memberships.order_by("pk")):
        fields = {"id": one.pk, "tenant": team.pk, "user": one.user_id, "role": one.role}
        changes = change if one.user_id == bob.pk else {}
        form |= {f"memberships-{number}-{name}": value for name, value in (fields | changes).items()}
    answer = client.post(reverse("admin:accounts_tenant_change", args=[team.pk]), form)
    assert answer.status_code == 302, answer.content


@pytest.mark.parametrize("door", LEAVING[:5], ids=lambda door: door.__name__)
def test_no_former_member_comes_back_with_an_invitation_of_before(api, alice, bob, team, charlie, door: Door) -> None:
    own = alice.memberships.get(tenant=team)
    to_bob, to_charlie = (
        inviting.invite(own, email=email, role=OWNER, link=lambda token: token).token
        for email in ("Bob@Example.com", "charlie@example.com")
    )

    door(api, bob, team)

    with pytest.raises(NoSuchInvitation):
        inviting.accept(to_bob, user=bob)
    assert inviting.accept(to_charlie, user=charlie).owns
