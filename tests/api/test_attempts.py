"""Passwords are not guessed for long."""

from __future__ import annotations

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import override_settings
from rest_framework.test import APIClient

from accounts.models import Bucket
from tests.conftest import PASSWORD
from tests.contracts.buckets import LONG
from tests.engine.system import together

pytestmark = pytest.mark.django_db

TOKEN = "/api/v1/auth/token"


@pytest.fixture(autouse=True)
def few_attempts(settings) -> None:
    settings.LOGIN_ATTEMPTS, settings.LOGIN_ATTEMPTS_PER_ADDRESS, settings.LOGIN_PERIOD = 3, 6, LONG


def guess(username: str = "alice", password: str = "wrong", address: str = "192.0.2.1") -> object:
    return APIClient().post(TOKEN, {"username": username, "password": password}, REMOTE_ADDR=address)


def test_after_a_few_wrong_passwords_the_right_one_is_not_looked_at(alice) -> None:
    assert [guess(address=f"192.0.2.{n}").status_code for n in range(3)] == [401, 401, 401]

    answer = guess(password=PASSWORD, address="192.0.2.9")

    assert answer.status_code == 429 and answer["Content-Type"] == "application/problem+json"
    assert int(answer["Retry-After"]) > 0


def test_an_address_that_tries_many_accounts_is_refused_and_others_are_not(alice) -> None:
    statuses = [guess(username=f"user{n}").status_code for n in range(7)]

    assert statuses == [401] * 6 + [429]
    assert guess(password=PASSWORD).status_code == 429
    assert guess(password=PASSWORD, address="192.0.2.2").status_code == 200


def test_right_passwords_are_not_counted(alice) -> None:
    assert [guess(password=PASSWORD).status_code for _ in range(10)] == [200] * 10


def test_the_same_name_in_other_letters_is_the_same_account(alice) -> None:
    for name in ("Alice", "ALICE", "ａlice"):
        guess(username=name)

    assert guess(password=PASSWORD).status_code == 429


@pytest.mark.django_db(transaction=True)
def test_many_guesses_at_once_are_no_way_around_it(alice) -> None:
    statuses: list[int] = []

    together(lambda: statuses.append(guess().status_code), count=8)

    assert sorted(statuses) == [401] * 3 + [429] * 5


def test_a_wrong_password_and_an_unknown_user_are_answered_alike(alice, monkeypatch) -> None:
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *args: hashed.append(args[1]) or encode(*args))

    wrong, unknown = guess(), guess(username="nobody")

    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()
    assert hashed == ["wrong", "wrong"]  # the slow part is done for both


def test_the_admins_sign_in_is_limited_too(client, alice) -> None:
    alice.is_staff = alice.is_superuser = True
    alice.save()
    for n in range(3):
        guess(address=f"192.0.2.{n}")

    client.post("/admin/login/", {"username": "alice", "password": PASSWORD})

    assert client.get("/admin/").status_code == 302


@override_settings(TRUSTED_PROXIES=1)
def test_behind_a_proxy_the_address_is_the_one_the_proxy_saw(alice) -> None:
    def through(forwarded: str) -> int:
        body = {"username": f"u{forwarded}", "password": "wrong"}
        return APIClient().post(TOKEN, body, HTTP_X_FORWARDED_FOR=forwarded).status_code

    assert [through(f"203.0.113.{n}, 198.51.100.7") for n in range(7)] == [401] * 6 + [429]
    assert through("198.51.100.7, 198.51.100.8") == 401


def test_what_clients_say_of_their_address_is_not_believed_without_a_proxy(alice) -> None:
    for n in range(6):
        APIClient().post(
            TOKEN,
            {"username": f"u{n}", "password": "x"},
            HTTP_X_FORWARDED_FOR=f"203.0.113.{n}",
            REMOTE_ADDR="192.0.2.1",
        )

    assert guess(username="another").status_code == 429


def test_a_household_of_ipv6_addresses_is_one_address(alice) -> None:
    for n in range(6):
        guess(username=f"u{n}", address=f"2001:db8::{n}")

    assert guess(username="another", address="2001:db8::ffff").status_code == 429
    assert guess(username="another", address="2001:db8:0:1::1").status_code == 401


@override_settings(REGISTRATIONS_PER_ADDRESS=2, REGISTRATION_PERIOD=LONG)
def test_an_address_registers_only_so_many(db) -> None:
    def register(name: str) -> int:
        new = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
        return APIClient().post("/api/v1/auth/register", new).status_code

    assert [register(name) for name in ("dora", "erik", "fred")] == [201, 201, 429]


def test_what_was_typed_as_a_name_is_not_kept(alice) -> None:
    guess(username="my secret by mistake")

    assert not any("secret" in bucket.name for bucket in Bucket.objects.all())


def test_guessing_is_no_freer_while_redis_is_away(alice, settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9/0"

    assert [guess().status_code for _ in range(4)] == [401, 401, 401, 429]
