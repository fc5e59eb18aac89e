"""Whoever reads the database, or a dump of it, learns no secret from it."""

from __future__ import annotations

from hashlib import sha256

import pytest
from django.apps import apps
from rest_framework.test import APIClient

from accounts.keys import create_key
from accounts.models import ApiKey, Invitation
from execution.models import WorkerKey
from execution.worker_keys import make_worker_key
from jobs.idempotency import fingerprint
from jobs.models import IdempotencyKey
from scheduler_project import settings as shipped
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

BITS = 256
CARRIED = 6  # bits of a character


@pytest.fixture
def secrets(api, alice, team) -> dict[str, str]:
    """One of each kind that is given to people, or taken from them."""
    hook = {"url": "https://example.com/", "headers": {"Authorization": "Bearer of-the-payload"}}
    assert api.post("/api/v1/jobs", {"task": "http_request", "payload": hook}).status_code == 201
    invited = api.post(f"/api/v1/tenants/{team.pk}/invitations", {"email": "dora@example.com"}).json()
    pair = APIClient().post("/api/v1/auth/token", {"username": "alice", "password": PASSWORD}).json()
    return {
        "password": PASSWORD,
        "payload": "of-the-payload",
        "access": pair["access"],
        "refresh": pair["refresh"],
        "invitation": invited["token"],
        "key": create_key(tenant=team, creator=alice, name="CI", scopes=["read"]).text.split("_", 2)[2],
        "worker key": make_worker_key(["resize_video"]).secret,
    }


def test_no_row_of_any_table_holds_one(secrets) -> None:
    stored = "\n".join(str(row) for model in apps.get_models() for row in model._default_manager.values_list())

    assert {name for name, secret in secrets.items() if secret in stored} == set()
    assert "dora@example.com" in stored  # it would have been seen


def test_a_secret_cannot_be_guessed_from_what_is_kept_of_a_request(api) -> None:
    body = {"task": "http_request", "payload": {"url": "https://example.com/", "headers": {"Authorization": "4711"}}}
    assert api.post("/api/v1/jobs", body, HTTP_IDEMPOTENCY_KEY="k-1").status_code == 201

    assert IdempotencyKey.objects.get().fingerprint != fingerprint("create_job", body)


def test_what_opens_a_door_has_256_random_bits_and_is_kept_as_its_hash(secrets) -> None:
    worker = secrets["worker key"]
    digests = {
        "invitation": Invitation.objects.get().digest,
        "key": ApiKey.objects.get().digest,
        "worker key": WorkerKey.objects.get().digest,
    }

    assert {name: sha256(secrets[name].encode()).hexdigest() for name in digests} == digests
    random = [secrets["invitation"], secrets["key"], worker.removeprefix("pwk_")]
    assert min(len(text) for text in random) * CARRIED >= BITS


def test_passwords_are_hashed_by_djangos_own_default() -> None:
    assert not hasattr(shipped, "PASSWORD_HASHERS")  # the tests have a quicker one
