"""The demo's admin, whose password everybody knows, is of use on this machine only."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from accounts import demo
from accounts.models import User
from accounts.services import register_admin
from scheduler_project.doctor import trust

pytestmark = pytest.mark.django_db

NO_PORT = 70_000  # nothing can listen there: if it is not refused, it does not serve either


@pytest.fixture(autouse=True)
def on_this_machine(settings) -> None:
    settings.EMBEDDED, settings.PRODUCTION = True, False
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "testserver.localhost"]


@pytest.fixture
def admin() -> User:
    return register_admin(username=demo.NAME, email="admin@example.com", password=demo.PASSWORD)


def sign_in(address: str = "127.0.0.1", password: str = demo.PASSWORD) -> int:
    asked = {"username": demo.NAME, "password": password}
    return APIClient().post("/api/v1/auth/token", asked, REMOTE_ADDR=address, HTTP_HOST="localhost").status_code


def seed() -> str:
    said = StringIO()
    call_command("seed_demo", stdout=said)
    return said.getvalue()


def test_on_this_machine_the_demo_is_seeded_and_signed_in_to() -> None:
    assert "sign in as admin / admin" in seed() and "0 new demo job(s)" in seed()

    assert sign_in() == sign_in("::1") == 200
    assert trust.well_known_password() == []


@pytest.mark.parametrize(
    ("name", "value"), [("PRODUCTION", True), ("ALLOWED_HOSTS", ["*"]), ("ALLOWED_HOSTS", ["punctual.example.com"])]
)
def test_the_demo_is_not_seeded_where_others_reach_the_server(settings, name, value) -> None:
    setattr(settings, name, value)

    with pytest.raises(CommandError, match=f"{name}.*createsuperuser"):
        seed()

    assert not User.objects.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.0.2.7", "server.example.com"])
def test_run_all_does_not_serve_the_well_known_password_to_others(admin, host) -> None:
    with pytest.raises(CommandError, match="changepassword admin"):
        call_command("run_all", host=host, port=NO_PORT)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_run_all_serves_the_demo_on_this_machine(admin, host) -> None:
    assert demo.danger(host) == ""


def test_run_all_does_not_serve_the_well_known_password_in_production(admin, settings) -> None:
    settings.PRODUCTION = True

    with pytest.raises(CommandError, match=r"PRODUCTION is set.*changepassword admin"):
        call_command("run_all", port=NO_PORT)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_the_well_known_password_is_refused_behind_a_proxy_on_this_machine(admin, header) -> None:
    asked = {"username": demo.NAME, "password": demo.PASSWORD}

    answer = APIClient().post(
        "/api/v1/auth/token", asked, REMOTE_ADDR="127.0.0.1", HTTP_HOST="localhost", headers={header: "203.0.113.9"}
    )

    assert answer.status_code == 401


def test_an_admin_with_a_password_of_their_own_is_served_to_anybody(admin, settings) -> None:
    admin.set_password("correct horse battery")
    admin.save()
    settings.PRODUCTION = True

    assert demo.danger("0.0.0.0") == "" and trust.well_known_password() == []
    assert sign_in("192.0.2.7", "correct horse battery") == 200


def test_the_well_known_password_is_refused_however_the_server_was_started(admin, settings) -> None:
    assert sign_in("192.0.2.7") == sign_in("") == 401

    settings.PRODUCTION = True

    assert sign_in() == 401


def test_the_doctor_finds_the_well_known_password_where_others_reach_the_server(admin, settings) -> None:
    settings.ALLOWED_HOSTS = ["punctual.example.com"]

    [finding] = trust.well_known_password()

    assert finding.code == "accounts.well_known_password" and "changepassword admin" in finding.remedy
