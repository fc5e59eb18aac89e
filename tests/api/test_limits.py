"""Limits on requests: told on every answer, and exact."""

from __future__ import annotations

from threading import Lock

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

from accounts import throttling
from accounts.keys import create_key
from accounts.limits import Allowance
from accounts.models import Tenant
from accounts.tokens import sign_in
from tests.conftest import key_client
from tests.contracts.buckets import LONG
from tests.engine.system import together

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_comes_back(monkeypatch) -> None:
    monkeypatch.setattr(throttling, "MINUTE", LONG)  # however slowly a test runs


@pytest.fixture
def token(alice) -> str:
    return sign_in(alice).access


def client_with(token: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def limited(tenant: Tenant, limit: int) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(rate_limit=limit)


def test_every_answer_says_what_is_left(token, team) -> None:
    limited(team, 3)

    answers = [client_with(token).get("/api/v1/jobs") for _ in range(3)]
    missing = client_with(token).get("/api/v1/jobs/nonsense")

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [answer["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0"]
    assert {answer["RateLimit-Limit"] for answer in answers} == {"3"}
    assert all(int(answer["RateLimit-Reset"]) > 0 for answer in answers)
    assert missing.status_code == 429


def test_one_too_many_is_told_when_to_come_back(token, team) -> None:
    limited(team, 1)
    client_with(token).get("/api/v1/jobs")

    answer = client_with(token).get("/api/v1/jobs")

    assert answer.status_code == 429 and answer["Content-Type"] == "application/problem+json"
    assert "1 requests a minute by this tenant" in answer.json()["detail"]
    assert int(answer["Retry-After"]) > 0
    assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("1", "0")


@pytest.mark.django_db(transaction=True)
def test_sixteen_who_ask_at_once_at_a_limit_of_twenty_get_twenty_answers(token, team) -> None:
    limited(team, 20)
    lock, got = Lock(), []

    def ask() -> None:
        for _ in range(3):
            status = client_with(token).get("/api/v1/tenants").status_code
            with lock:
                got.append(status)

    together(ask, count=16)

    assert sorted(set(got)) == [200, 429]
    assert got.count(200) == 20


def test_a_tenant_that_has_used_up_its_own_leaves_others_theirs(token, team, charlie) -> None:
    limited(team, 1)
    client_with(token).get("/api/v1/jobs")

    assert client_with(token).get("/api/v1/jobs").status_code == 429
    assert client_with(sign_in(charlie).access).get("/api/v1/jobs").status_code == 200


def test_a_key_that_has_used_up_its_own_leaves_its_tenant_the_rest(alice, team, token) -> None:
    limited(team, 5)
    machine = key_client(create_key(tenant=team, creator=alice, name="CI", scopes=["read"], rate_limit=2).text)

    statuses = [machine.get("/api/v1/jobs").status_code for _ in range(10)]

    assert statuses == [200, 200, *[429] * 8]
    assert "by this key" in machine.get("/api/v1/jobs").json()["detail"]
    assert client_with(token).get("/api/v1/jobs")["RateLimit-Remaining"] == "2"


@override_settings(RATE_LIMIT=2)
def test_the_setting_counts_where_the_tenant_says_nothing_and_zero_is_no_limit(token, team) -> None:
    assert [client_with(token).get("/api/v1/jobs").status_code for _ in range(3)] == [200, 200, 429]

    limited(team, 0)

    answer = client_with(token).get("/api/v1/jobs")
    assert answer.status_code == 200 and not answer.has_header("RateLimit-Limit")


@override_settings(RATE_LIMIT=1)
def test_whoever_asks_for_a_tenant_that_is_not_theirs_is_counted_too(alice, token, charlie) -> None:
    headers = {"x-tenant-id": str(charlie.tenants.get().pk)}

    assert client_with(token).get("/api/v1/jobs", headers=headers).status_code == 403
    assert client_with(token).get("/api/v1/jobs", headers=headers).status_code == 429


def test_requests_are_let_through_while_redis_is_away(token, team, monkeypatch) -> None:
    from accounts.limits.redis import RedisBuckets

    limited(team, 1)
    away = RedisBuckets("redis://127.0.0.1:9/0")
    monkeypatch.setattr(throttling, "get_buckets", lambda: away)

    answers = [client_with(token).get("/api/v1/jobs") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert not answers[0].has_header("RateLimit-Limit")


def test_an_allowance_of_more_than_one_a_microsecond_still_has_a_step() -> None:
    assert Allowance("tenant:x", 10**9, LONG / 10**9).step == 1
