"""Who takes part in the tests: Alice owns, Bob is on her team, Charlie must see nothing."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test import TransactionTestCase
from rest_framework.test import APIClient

from accounts.models import Membership, Tenant, User
from accounts.services import register
from tests.emptying import empty
from tests.lives import Life
from tests.servers import where
from tests.servers.modes import Mode
from tests.servers.shares import SharedOut

PASSWORD = "correct horse battery"

HERE = Path(__file__).parent
MODE = Mode.named(os.environ.get("PUNCTUAL_TEST_MODE", "embedded"))
TAKE_LONGEST = {"whole", "browser"}

TransactionTestCase._fixture_teardown = lambda _: empty()  # pytest-django calls it after each test that commits


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return None if where.tells_something(collection_path.relative_to(HERE), MODE) else True


@pytest.hookimpl(optionalhook=True)  # where xdist is not used, nobody knows it
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> SharedOut:
    return SharedOut(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first: begun last, it would keep one process busy and the others waiting."""
    items.sort(key=lambda item: item.path.parent.name not in TAKE_LONGEST)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker) -> None:
    """As pytest-django does, and no commit waits for the disk: what a crash would lose, nobody wants back."""
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            name = connection.ops.quote_name(connection.settings_dict["NAME"])
            cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
            connection.close()
            connection.close_pool()  # those to come have it off, in child processes too


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
