"""Passwords are not guessed for long."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.tokens import default_token_generator
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.http import urlsafe_base64_encode
from rest_framework.test import APIClient

from accounts import passwords
from accounts.models import Bucket, KnownAddress, User
from tests.conftest import PASSWORD
from tests.contracts.buckets import LONG
from tests.engine.system import together

pytestmark = pytest.mark.django_db

TOKEN = "/api/v1/auth/token"


@pytest.fixture(autouse=True)
def few_attempts(settings) -> None:
    settings.LOGIN_ATTEMPTS, settings.LOGIN_ATTEMPTS_PER_ADDRESS, settings.LOGIN_PERIOD = 3, 6, LONG
    settings.LOGIN_ATTEMPTS_PER_ACCOUNT = 4


def guess(username: str = "alice", password: str = "wrong", address: str = "192.0.2.1") -> object:
    return APIClient().post(TOKEN, {"username": username, "password": password}, REMOTE_ADDR=address)


def test_after_a_few_wrong_passwords_the_right_one_is_not_looked_at_from_there(alice) -> None:
    assert [guess().status_code for _ in range(3)] == [401, 401, 401]

    answer = guess(password=PASSWORD)

    assert answer.status_code == 429 and answer["Content-Type"] == "application/problem+json"
    assert int(answer["Retry-After"]) > 0


def test_many_addresses_together_guess_no_faster_than_the_accounts_limit(alice) -> None:
    statuses = [guess(address=f"192.0.2.{n}").status_code for n in range(6)]

    assert statuses == [401] * 4 + [429] * 2
    assert guess(password=PASSWORD, address="192.0.2.99").status_code == 429


def test_strangers_lock_nobody_out_who_has_signed_in_from_there_before(alice) -> None:
    home = "198.51.100.7"
    assert guess(password=PASSWORD, address=home).status_code == 200

    for n in range(20):
        guess(address=f"192.0.2.{n}")

    assert guess(password=PASSWORD, address=home).status_code == 200
    assert [guess(address=home).status_code for _ in range(4)] == [401, 401, 401, 429], "the limit there stays"


def test_what_another_account_did_from_an_address_makes_it_known_to_no_other(alice, charlie) -> None:
    assert guess(username="charlie", password=PASSWORD, address="198.51.100.7").status_code == 200
    for n in range(4):
        guess(address=f"192.0.2.{n}")

    assert guess(password=PASSWORD, address="198.51.100.7").status_code == 429


def test_a_sign_in_to_a_name_in_other_letters_makes_no_address_known_to_the_account(alice) -> None:
    User.objects.create_user("ALICE", "stranger@example.com", PASSWORD)
    addresses = [f"192.0.2.{n}" for n in range(6)]
    assert [guess("ALICE", PASSWORD, one).status_code for one in addresses] == [200] * 6

    statuses = [guess(address=one).status_code for one in addresses]

    assert statuses == [401] * 4 + [429] * 2


def test_an_address_is_forgotten_after_a_while(alice, settings) -> None:
    guess(password=PASSWORD, address="198.51.100.7")
    KnownAddress.objects.update(seen_at=timezone.now() - settings.KNOWN_ADDRESS_KEPT - timedelta(days=1))
    for n in range(4):
        guess(address=f"192.0.2.{n}")
    assert guess(password=PASSWORD, address="198.51.100.7").status_code == 429

    User.objects.create_user("dora", "dora@example.com", PASSWORD)
    guess(username="dora", password=PASSWORD, address="203.0.113.1")

    assert KnownAddress.objects.count() == 1, "old ones are cleared away"


def test_who_resets_their_password_by_mail_gets_in_while_strangers_guess(alice, rf) -> None:
    for n in range(4):
        guess(address=f"192.0.2.{n}")
    request = rf.post("/reset-password", REMOTE_ADDR="198.51.100.7")
    token = f"{urlsafe_base64_encode(str(alice.pk).encode())}.{default_token_generator.make_token(alice)}"

    passwords.reset(request, token, new="another horse battery")

    assert guess(password="another horse battery", address="198.51.100.7").status_code == 200


def test_neither_names_nor_addresses_of_sign_ins_are_kept(alice) -> None:
    guess(password=PASSWORD, address="198.51.100.7")

    assert KnownAddress.objects.count() == 1
    assert not re.search("alice|198", str(list(KnownAddress.objects.values_list("digest", flat=True))))


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

    User.objects.create_user("gone", "gone@example.com", PASSWORD, is_active=False)
    work, answers = [], []
    for name in ("alice", "nobody", "gone"):
        with CaptureQueriesContext(connection) as asked:
            answers.append(guess(username=name, address=f"192.0.2.{len(work)}"))
        work.append(len(asked))
    assert len(set(work)) == 1, work
    wrong, unknown, gone = answers

    assert wrong.status_code == unknown.status_code == gone.status_code == 401
    assert wrong.json() == unknown.json() == gone.json()
    assert hashed.count("wrong") == 3  # the slow part is done for all


def test_the_admins_sign_in_is_limited_too(client, alice) -> None:
    alice.is_staff = alice.is_superuser = True
    alice.save()
    for n in range(4):
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
        guess(username=f"u{n}", address=f"2001:db8:0:{n}::1")

    assert guess(username="another", address="2001:db8::ffff").status_code == 429
    assert guess(username="another", address="2001:db8:0:100::1").status_code == 401


@override_settings(REGISTRATIONS_PER_ADDRESS=2, REGISTRATION_PERIOD=LONG)
def test_an_address_registers_only_so_many(db) -> None:
    def register(name: str) -> int:
        new = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
        return APIClient().post("/api/v1/auth/register", new).status_code

    assert [register(name) for name in ("dora", "erik", "fred")] == [201, 201, 429]


def test_what_was_typed_as_a_name_is_not_kept(alice) -> None:
    guess(username="my secret by mistake")

    assert not any("secret" in bucket.name for bucket in Bucket.objects.all())


@pytest.mark.parametrize("page", ["/sign-in", "/admin/login/", "/register"])
def test_a_name_with_very_many_combining_characters_is_refused_at_once(client, db, page) -> None:
    # To bring it into its normal form would take minutes, and hold up every other thread.
    name = "a" + "\u0300" * 200_000 + "\u0316" * 200_000
    began = time.process_time()

    answer = client.post(page, {"username": name, "password": PASSWORD, "email": "a@example.com"})

    assert answer.status_code == 200 and "_auth_user_id" not in client.session
    assert time.process_time() - began < 5


def test_a_name_too_long_for_an_account_is_refused_before_it_is_brought_into_normal_form(db) -> None:
    name = "a" + "\u0300" * 3_000

    answer = APIClient().post(
        "/api/v1/auth/register", {"username": name, "password": PASSWORD, "email": "a@example.com"}
    )

    assert answer.status_code == 400 and "150 characters" in answer.json()["detail"]
    assert User.normalize_username(name) is name


def test_guessing_is_no_freer_while_redis_is_away(alice, settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9/0"

    assert [guess().status_code for _ in range(4)] == [401, 401, 401, 429]
