"""Tokens: rotated with every use, ended with the sign-out, and forged by nobody."""

from __future__ import annotations

import jwt
import pytest
from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import TokenFamily, User
from accounts.tokens import Pair, SignInAgain, refresh, sign_in
from tests.conftest import PASSWORD
from tests.engine.system import together

pytestmark = pytest.mark.django_db


def ask(path: str, **body: str) -> object:
    return APIClient().post(f"/api/v1/auth/{path}", body)


def opens(access: str) -> bool:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {access}")
    status = client.get("/api/v1/jobs").status_code
    assert status in (200, 401)
    return status == 200


def test_a_refresh_gives_a_new_pair_and_the_old_refresh_token_is_used_up(alice) -> None:
    first = ask("token", username="alice", password=PASSWORD).json()

    second = ask("token/refresh", refresh=first["refresh"]).json()
    third = ask("token/refresh", refresh=second["refresh"])

    assert third.status_code == 200 and opens(third.json()["access"])
    assert len({first["refresh"], second["refresh"], third.json()["refresh"]}) == 3


def test_using_a_refresh_token_again_ends_its_whole_family(alice) -> None:
    first = sign_in(alice)
    second = refresh(first.refresh)

    answer = ask("token/refresh", refresh=first.refresh)

    assert answer.status_code == 401 and "Sign in again" in answer.json()["detail"]
    assert answer["Content-Type"] == "application/problem+json"
    assert not opens(first.access) and not opens(second.access)
    assert ask("token/refresh", refresh=second.refresh).status_code == 401


def test_another_sign_in_of_the_same_user_goes_on(alice) -> None:
    stolen, other = sign_in(alice), sign_in(alice)
    refresh(stolen.refresh)
    with pytest.raises(SignInAgain):
        refresh(stolen.refresh)

    assert opens(other.access) and ask("token/refresh", refresh=other.refresh).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_six_who_bring_one_refresh_token_at_once_no_two_get_pairs_that_work(alice) -> None:
    pair = sign_in(alice)
    got: list[Pair | SignInAgain] = []

    def exchange() -> None:
        try:
            got.append(refresh(pair.refresh))
        except SignInAgain as error:
            got.append(error)

    together(exchange, count=6)

    pairs = [one for one in got if isinstance(one, Pair)]
    assert len(got) == 6 and len(pairs) <= 1
    assert not any(opens(one.access) for one in pairs)  # the other five were reuse
    assert TokenFamily.objects.count() == 0


def test_signing_out_ends_access_at_once(alice) -> None:
    pair, elsewhere = sign_in(alice), sign_in(alice)

    assert ask("logout", refresh=pair.refresh).status_code == 204

    assert not opens(pair.access)
    assert ask("token/refresh", refresh=pair.refresh).status_code == 401
    assert opens(elsewhere.access)


def test_an_access_token_is_enough_to_sign_out(alice) -> None:
    pair = sign_in(alice)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")

    assert client.post("/api/v1/auth/logout").status_code == 204
    assert client.post("/api/v1/auth/logout").status_code == 401
    assert ask("token/refresh", refresh=pair.refresh).status_code == 401


@pytest.mark.parametrize("body", [{}, {"refresh": "nonsense"}, {"refresh": ""}, {"refresh": None}, [1], {"refresh": 7}])
def test_nobody_is_signed_out_by_nonsense(alice, body) -> None:
    assert APIClient().post("/api/v1/auth/logout", body).status_code in (400, 401)


def test_nobody_who_was_deactivated_or_deleted_gets_a_new_pair(alice, charlie) -> None:
    of_alice, of_charlie = sign_in(alice), sign_in(charlie)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    User.objects.filter(pk=charlie.pk).delete()

    assert ask("token/refresh", refresh=of_alice.refresh).status_code == 401
    assert ask("token/refresh", refresh=of_charlie.refresh).status_code == 401


def test_a_new_password_signs_out_everywhere(alice) -> None:
    pair = sign_in(alice)

    alice.set_password("another horse battery")
    alice.save()

    assert not opens(pair.access)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [("", "none"), (settings.JWT_SIGNING_KEY, "HS512"), ("x" * 64, "HS256"), (settings.SECRET_KEY, "HS256")],
    ids=["none", "ours with another algorithm", "made up", "Django's own"],  # every test process has keys of its own
)
def test_a_token_of_another_algorithm_or_key_opens_nothing(alice, key, algorithm) -> None:
    pair = sign_in(alice)
    claims = jwt.decode(pair.access, settings.JWT_SIGNING_KEY, algorithms=["HS256"])

    assert opens(pair.access)
    assert not opens(jwt.encode(claims, key, algorithm=algorithm))


def test_a_token_without_a_family_opens_nothing(alice) -> None:
    claims = jwt.decode(sign_in(alice).access, settings.JWT_SIGNING_KEY, algorithms=["HS256"])
    del claims["family"]

    assert not opens(jwt.encode(claims, settings.JWT_SIGNING_KEY, algorithm="HS256"))


def test_a_refresh_token_gives_no_access_and_an_access_token_no_refresh(alice) -> None:
    pair = sign_in(alice)

    assert not opens(pair.refresh)
    assert ask("token/refresh", refresh=pair.access).status_code == 401


def test_families_that_are_over_are_cleared_away_at_the_next_sign_in(alice) -> None:
    sign_in(alice)
    TokenFamily.objects.update(expires_at=timezone.now())

    sign_in(alice)

    assert TokenFamily.objects.count() == 1
