"""The secret that a tenant's receivers verify with."""

from __future__ import annotations

from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook

from accounts.models import Membership
from execution.handlers.http_request import http_request
from execution.registry import Run, registry
from tests.conftest import client_of
from tests.misbehaving import MisbehavingServer

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/signing-secret"


def test_what_is_shown_verifies_what_is_sent(api, team, settings) -> None:
    peer = MisbehavingServer()
    settings.HTTP_ALLOWED_HOSTS = ("127.0.0.1",)
    answer = api.get(ADDRESS)

    http_request(registry.get("http_request").read({"url": peer.url("/fine"), "body": [1]}), Run(uuid4(), 1, team.pk))

    assert Webhook(answer.json()["secret"]).verify(peer.heard[-1].body, peer.heard[-1].headers) == [1]
    assert answer["Cache-Control"] == "no-store"
    peer.stop()


def test_every_tenant_has_another(api, charlie) -> None:
    assert api.get(ADDRESS).json() != client_of(charlie).get(ADDRESS).json()


def test_whoever_may_only_look_does_not_see_it(bob, team) -> None:
    client = client_of(bob, team)
    assert client.get(ADDRESS).status_code == 200

    Membership.objects.filter(user=bob, tenant=team).update(role="viewer")

    assert client_of(bob, team).get(ADDRESS).status_code == 403
    assert client_of(None).get(ADDRESS).status_code == 401
