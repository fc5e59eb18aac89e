"""Registering and getting in."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient
from rest_framework.validators import UniqueValidator

from accounts.models import User

pytestmark = pytest.mark.django_db

NEW = {"username": "dora", "email": "dora@example.com", "password": "correct horse battery"}


@pytest.fixture
def anyone() -> APIClient:
    return APIClient()


def test_whoever_registers_gets_a_personal_tenant(anyone) -> None:
    answer = anyone.post("/api/v1/auth/register", NEW)

    assert answer.status_code == 201
    assert answer.json()["tenant"]["name"] == "dora"
    assert "password" not in answer.json()
    assert User.objects.get(username="dora").tenants.count() == 1


def test_a_token_opens_the_api_and_a_refresh_token_gets_another(anyone) -> None:
    anyone.post("/api/v1/auth/register", NEW)

    tokens = anyone.post("/api/v1/auth/token", {"username": "dora", "password": NEW["password"]}).json()
    renewed = anyone.post("/api/v1/auth/token/refresh", {"refresh": tokens["refresh"]}).json()

    for access in (tokens["access"], renewed["access"]):
        anyone.credentials(HTTP_AUTHORIZATION=f"Bearer {access}")
        assert anyone.get("/api/v1/jobs").status_code == 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"password": "short"}, "password"),
        ({"password": "dora@example.com"}, "password"),
        ({"email": "nowhere"}, "email"),
        ({"username": "a b"}, "username"),
        ({"username": "x" * 200}, "username"),
        ({"username": ["list"]}, "username"),
        ({"username": None}, "username"),
        ({"password": {"$ne": ""}}, "password"),
    ],
)
def test_a_bad_registration_names_the_field(anyone, change, field) -> None:
    answer = anyone.post("/api/v1/auth/register", NEW | change)

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert field in [error["field"] for error in answer.json()["errors"]]


def test_a_name_is_taken_once(anyone) -> None:
    anyone.post("/api/v1/auth/register", NEW)

    answer = anyone.post("/api/v1/auth/register", NEW | {"email": "other@example.com"})

    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "username"


def test_a_wrong_password_gets_no_token(anyone, alice) -> None:
    answer = anyone.post("/api/v1/auth/token", {"username": "alice", "password": "wrong"})

    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"


def test_the_refresh_token_of_a_deleted_user_is_refused(anyone) -> None:
    anyone.post("/api/v1/auth/register", NEW)
    refresh = anyone.post("/api/v1/auth/token", NEW).json()["refresh"]
    User.objects.get(username="dora").delete()

    assert anyone.post("/api/v1/auth/token/refresh", {"refresh": refresh}).status_code == 401


@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c", None, 7])
def test_a_bad_refresh_token_is_refused(anyone, token) -> None:
    assert anyone.post("/api/v1/auth/token/refresh", {"refresh": token}).status_code in (400, 401)


def test_nothing_is_shown_to_strangers(anyone) -> None:
    for path in ("jobs", "executions", "jobs/00000000-0000-0000-0000-000000000000"):
        answer = anyone.get(f"/api/v1/{path}")

        assert answer.status_code == 401
        assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("name", ["ａlice", "𝐚lice", "ﬀ" * 100, "ﷺ" * 20])
def test_a_name_is_checked_in_the_form_it_is_stored_in(anyone, alice, name) -> None:
    answer = anyone.post("/api/v1/auth/register", NEW | {"username": name})

    assert answer.status_code == 400
    assert {error["field"] for error in answer.json()["errors"]} == {"username"}


def test_of_two_who_take_a_name_at_once_one_is_told(anyone, alice, monkeypatch) -> None:
    monkeypatch.setattr(UniqueValidator, "__call__", lambda *arguments: None)  # as if neither had been there yet

    answer = anyone.post("/api/v1/auth/register", NEW | {"username": "alice"})

    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "username"
