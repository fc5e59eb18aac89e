"""Who takes part in the tests: Alice owns, Bob is on her team, Charlie must see nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rest_framework.test import APIClient

from accounts.models import Membership, Tenant, User
from accounts.services import register
from tests.lives import Life

PASSWORD = "correct horse battery"


def _person(name: str) -> User:
    return register(username=name, email=f"{name}@example.com", password=PASSWORD)


@pytest.fixture
def alice(db) -> User:
    return _person("alice")


@pytest.fixture
def team(alice: User) -> Tenant:
    return alice.tenants.get()


@pytest.fixture
def bob(team: Tenant) -> User:
    bob = _person("bob")
    Membership.objects.create(tenant=team, user=bob)
    return bob


@pytest.fixture
def charlie(db) -> User:
    return _person("charlie")


def client_of(user: User | None, tenant: Tenant | None = None) -> APIClient:
    client = APIClient()
    if user is not None:
        client.force_authenticate(user)
    if tenant is not None:
        client.defaults["HTTP_X_TENANT_ID"] = str(tenant.pk)
    return client


@pytest.fixture
def api(alice: User) -> APIClient:
    """Alice's client."""
    return client_of(alice)


@pytest.fixture
def life(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> Life:
    """A job's life, which begins at noon of a Monday."""
    return Life(team, datetime(2026, 11, 16, 12, tzinfo=UTC), monkeypatch)


def key_client(text: str) -> APIClient:
    """A machine with an API key."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Api-Key {text}")
    return client
