"""Whom a token speaks for: read in one question, and answered as if it had been two."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import Membership, Tenant, User
from accounts.standing import user_with_standing
from accounts.tenancy import UnknownTenant, membership_for
from accounts.tokens import sign_in
from jobs.models import Job

pytestmark = pytest.mark.django_db

MAIL = {"task": "send_email", "payload": {"to": "alice@example.com", "subject": "Hello", "body": "There"}}


def signed_in(user: User, tenant: object = None) -> APIClient:
    """A client with a real token."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {sign_in(user).access}")
    if tenant is not None:
        client.defaults["HTTP_X_TENANT_ID"] = str(tenant)
    return client


def family_of(user: User) -> str:
    sign_in(user)
    return str(user.token_families.get().pk)


def test_without_a_wish_a_token_speaks_for_the_oldest_membership(bob, team) -> None:
    own = bob.memberships.exclude(tenant=team).get().tenant

    answer = signed_in(bob).post("/api/v1/jobs", MAIL)

    assert answer.status_code == 201 and answer.json()["owner"] == "bob"
    assert Job.objects.get().tenant == own


def test_a_token_speaks_for_the_tenant_the_header_names(bob, team) -> None:
    assert signed_in(bob, team.pk).post("/api/v1/jobs", MAIL).status_code == 201
    assert signed_in(bob, team.pk.hex.upper()).get("/api/v1/jobs").json()["results"] != []
    assert Job.objects.get().tenant == team


@pytest.mark.parametrize("name", ["", "nonsense", "d67f67cc-dde9-47e7-9018-08abce76b0f4", "0" * 32])
def test_a_tenant_that_is_not_theirs_is_refused_with_those_that_are(charlie, name) -> None:
    answer = signed_in(charlie, name).get("/api/v1/jobs")

    assert answer.status_code == 403
    assert str(charlie.tenants.get().pk) in answer.json()["detail"]


def test_charlies_token_does_not_open_alices_tenant(charlie, team) -> None:
    assert signed_in(charlie, team.pk).get("/api/v1/jobs").status_code == 403
    assert signed_in(charlie, team.pk).post("/api/v1/jobs", MAIL).status_code == 403


def test_a_viewers_token_only_looks(bob, team) -> None:
    Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)

    assert signed_in(bob, team.pk).get("/api/v1/jobs").status_code == 200
    assert signed_in(bob, team.pk).post("/api/v1/jobs", MAIL).status_code == 403


def test_whoever_belongs_nowhere_is_told_so(alice) -> None:
    alice.memberships.all().delete()

    answer = signed_in(alice).get("/api/v1/jobs")

    assert answer.status_code == 403 and "belong to no tenant" in answer.json()["detail"]


def test_the_token_of_somebody_deactivated_or_deleted_opens_nothing(alice, bob) -> None:
    of_alice, of_bob = signed_in(alice), signed_in(bob)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    Membership.objects.filter(user=bob).delete()
    bob.delete()

    assert of_alice.get("/api/v1/jobs").status_code == 401
    assert "inactive" in of_alice.get("/api/v1/jobs").json()["detail"]
    assert of_bob.get("/api/v1/jobs").status_code == 401


def test_what_is_read_at_once_is_what_two_questions_would_answer(alice, bob, charlie, team) -> None:
    tenants = [None, "nonsense", *(str(tenant.pk) for tenant in Tenant.objects.all())]
    for user in (alice, bob, charlie):
        family = family_of(user)
        for wanted in tenants:
            assert _standing(user_with_standing(family, wanted), wanted) == _standing(user, wanted)


def _standing(user: User, wanted: str | None) -> tuple | None:
    try:
        found = membership_for(user, wanted, to_write=False)
    except UnknownTenant:
        return None
    tenant = found.tenant
    return user, user.username, user.email, user.is_active, found, found.role, tenant, tenant.name, tenant.created_at


def test_a_standing_read_for_one_tenant_says_nothing_about_another(charlie, team) -> None:
    user = user_with_standing(family_of(charlie), None)

    assert membership_for(user, None, to_write=True).user == charlie
    with pytest.raises(UnknownTenant):
        membership_for(user, str(team.pk), to_write=False)


def test_who_asks_costs_one_query(alice) -> None:
    client = signed_in(alice)

    with CaptureQueriesContext(connection) as queries:
        client.get("/api/v1/jobs")

    limits = 0 if settings.REDIS_URL else 1  # one question to one of the servers
    assert len(queries) == 2 + limits  # that, and the list itself
