"""API keys: shown once, never for more than their maker may do, and ended at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.keys import MOST_KEYS, create_key
from accounts.models import ApiKey, Membership, User
from jobs.models import AuditEvent, Job
from tests.conftest import client_of, key_client

pytestmark = pytest.mark.django_db

MAIL = {"task": "send_email", "payload": {"to": "alice@example.com", "subject": "Hello", "body": "There"}}
BOTH = ["read", "write"]


@pytest.fixture
def new_key(team, alice):
    """Make a key of Alice's team; the text of it."""

    def make(*scopes: str, creator: User = alice, **options) -> str:
        return create_key(tenant=team, creator=creator, name="CI", scopes=scopes or BOTH, **options).text

    return make


def test_a_key_is_shown_once_and_kept_as_a_hash(api, team) -> None:
    made = api.post("/api/v1/keys", {"name": "CI", "scopes": BOTH})

    text = made.json()["key"]
    assert made.status_code == 201
    assert key_client(text).post("/api/v1/jobs", MAIL).status_code == 201
    assert Job.objects.get().tenant == team
    stored = ApiKey.objects.get()
    assert text.split("_")[1] == stored.prefix and text.split("_", 2)[2] not in str(vars(stored))
    [listed] = api.get("/api/v1/keys").json()["results"]
    assert "key" not in listed and "digest" not in listed
    assert (listed["name"], listed["scopes"], listed["creator"]) == ("CI", BOTH, "alice")


def test_what_a_key_does_is_written_down_as_its_makers_act(new_key, alice) -> None:
    job = key_client(new_key()).post("/api/v1/jobs", MAIL).json()

    assert job["owner"] == "alice"
    assert AuditEvent.objects.get().actor == alice


def test_a_key_that_may_only_read_changes_nothing(new_key) -> None:
    machine = key_client(new_key("read"))

    answer = machine.post("/api/v1/jobs", MAIL)

    assert answer.status_code == 403 and "`write`" in answer.json()["detail"]
    assert machine.get("/api/v1/jobs").status_code == 200
    assert not Job.objects.exists()


def test_a_key_that_may_only_write_sees_nothing(new_key) -> None:
    machine = key_client(new_key("write"))

    assert machine.post("/api/v1/jobs", MAIL).status_code == 201
    assert machine.get("/api/v1/jobs").status_code == 403


def test_a_key_of_a_viewer_only_looks_whatever_its_scopes(new_key, bob, team) -> None:
    machine = key_client(new_key(creator=bob))
    Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)

    assert machine.get("/api/v1/jobs").status_code == 200
    assert machine.post("/api/v1/jobs", MAIL).status_code == 403


def test_a_key_speaks_for_its_own_tenant_and_for_none_other_of_its_maker(new_key, bob, team) -> None:
    own = bob.memberships.exclude(tenant=team).get().tenant
    machine = key_client(new_key(creator=bob))

    assert machine.get("/api/v1/jobs").status_code == 200
    assert machine.get("/api/v1/jobs", headers={"x-tenant-id": str(team.pk)}).status_code == 200
    assert machine.get("/api/v1/jobs", headers={"x-tenant-id": str(own.pk)}).status_code == 403
    machine.post("/api/v1/jobs", MAIL)
    assert Job.objects.get().tenant == team
    assert [one["id"] for one in machine.get("/api/v1/tenants").json()["results"]] == [str(team.pk)]


def test_a_key_past_its_time_opens_nothing(new_key) -> None:
    machine = key_client(new_key(expires_at=timezone.now() + timedelta(hours=1)))
    assert machine.get("/api/v1/jobs").status_code == 200

    ApiKey.objects.update(expires_at=timezone.now())

    answer = machine.get("/api/v1/jobs")
    assert answer.status_code == 401 and "expired" in answer.json()["detail"]


def test_a_revoked_key_opens_nothing_from_the_next_request_on(api, new_key) -> None:
    machine = key_client(new_key())
    assert machine.get("/api/v1/jobs").status_code == 200
    [listed] = api.get("/api/v1/keys").json()["results"]

    assert api.delete(f"/api/v1/keys/{listed['id']}").status_code == 204

    answer = machine.get("/api/v1/jobs")
    assert answer.status_code == 401 and "revoked" in answer.json()["detail"]
    assert api.get("/api/v1/keys").json()["results"][0]["revoked_at"] is not None


def test_the_keys_of_whoever_leaves_or_is_deactivated_end(api, new_key, alice, bob, team) -> None:
    of_bob, of_alice = key_client(new_key(creator=bob)), key_client(new_key())

    assert api.delete(f"/api/v1/tenants/{team.pk}/members/{bob.pk}").status_code == 204
    User.objects.filter(pk=alice.pk).update(is_active=False)

    assert of_bob.get("/api/v1/jobs").status_code == 401
    assert of_alice.get("/api/v1/jobs").status_code == 401
    Membership.objects.create(tenant=team, user=bob)
    assert of_bob.get("/api/v1/jobs").status_code == 401  # who comes back makes new ones


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "punctual_" + "0" * 12 + "_" + "x" * 43, "punctual_\x00", "é" * 60, "punctual_a_b c"],
)
def test_what_is_no_key_opens_nothing(db, text) -> None:
    answer = key_client(text).get("/api/v1/jobs")

    assert answer.status_code == 401 and answer["Content-Type"] == "application/problem+json"


def test_the_right_prefix_with_another_secret_opens_nothing(new_key) -> None:
    text = new_key()

    assert key_client(text[:-43] + "x" * 43).get("/api/v1/jobs").status_code == 401


def test_a_key_makes_no_keys_and_lets_nobody_in(new_key, team, alice) -> None:
    machine = key_client(new_key())
    tenant = f"/api/v1/tenants/{team.pk}"

    for answer in (
        machine.get("/api/v1/keys"),
        machine.post("/api/v1/keys", {"name": "more", "scopes": BOTH}),
        machine.delete(f"/api/v1/keys/{ApiKey.objects.get().pk}"),
        machine.post("/api/v1/tenants", {"name": "more"}),
        machine.get(f"{tenant}/members"),
        machine.delete(f"{tenant}/members/{alice.pk}"),
        machine.post(f"{tenant}/invitations", {"email": "charlie@example.com"}),
    ):
        assert answer.status_code == 403 and "API key" in answer.json()["detail"]


def test_last_use_is_noted_once_a_minute(new_key) -> None:
    machine = key_client(new_key())
    machine.get("/api/v1/jobs")
    noted = ApiKey.objects.get().last_used_at

    with CaptureQueriesContext(connection) as queries:
        machine.get("/api/v1/jobs")

    assert noted is not None and ApiKey.objects.get().last_used_at == noted
    assert not [one for one in queries.captured_queries if "UPDATE" in one["sql"] and "apikey" in one["sql"]]
    ApiKey.objects.update(last_used_at=noted - timedelta(minutes=2))
    machine.get("/api/v1/jobs")
    assert ApiKey.objects.get().last_used_at > noted


def test_owners_see_all_keys_others_their_own_and_charlie_none(api, new_key, alice, bob, charlie, team) -> None:
    new_key()
    new_key(creator=bob)
    of_alice = ApiKey.objects.get(creator=alice)

    assert len(api.get("/api/v1/keys").json()["results"]) == 2
    of_bob = client_of(bob, team)
    assert [key["creator"] for key in of_bob.get("/api/v1/keys").json()["results"]] == ["bob"]
    assert of_bob.delete(f"/api/v1/keys/{of_alice.pk}").status_code == 404
    assert client_of(charlie).get("/api/v1/keys").json()["results"] == []
    assert client_of(charlie).delete(f"/api/v1/keys/{of_alice.pk}").status_code == 404
    assert client_of(charlie).delete("/api/v1/keys/nonsense").status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["admin"]}, "scopes.0"),
        ({"scopes": "read"}, "scopes"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"rate_limit": -1}, "rate_limit"),
        ({"rate_limit": "7"}, "rate_limit"),
        ({"rate_limit": True}, "rate_limit"),
        ({"name": 7}, "name"),
        ({"rate_limit": 10**30}, "rate_limit"),
        ({"tenant": "mine"}, "tenant"),
    ],
)
def test_a_bad_wish_for_a_key_names_the_field(api, change, field) -> None:
    answer = api.post("/api/v1/keys", {"name": "CI", "scopes": BOTH} | change)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_keys_without_end_are_refused_with_the_remedy(api, alice, team) -> None:
    rows = [
        ApiKey(tenant=team, creator=alice, name="", prefix=f"{n:012x}", digest="", scopes="") for n in range(MOST_KEYS)
    ]
    ApiKey.objects.bulk_create(rows)

    answer = api.post("/api/v1/keys", {"name": "one more", "scopes": BOTH})

    assert answer.status_code == 403 and "Revoke one" in answer.json()["detail"]
    assert answer.json()["quota"] == {"name": "api_keys", "limit": MOST_KEYS, "used": MOST_KEYS, "wanted": 1}
    ApiKey.objects.filter(prefix="0" * 12).revoke(timezone.now())
    assert api.post("/api/v1/keys", {"name": "one more", "scopes": BOTH}).status_code == 201
