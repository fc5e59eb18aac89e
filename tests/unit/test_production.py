"""What PRODUCTION=true promises, asked of the settings as they are shipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.deploying import ROOT

KEY = "a long and random text, which is made anew for each installation: 0123456789"
GIVEN = {
    "PRODUCTION": "true",
    "ALLOWED_HOSTS": "punctual.example.com",
    "SECRET_KEY": KEY,
    "JWT_SIGNING_KEY": KEY[::-1],
    "SECRETS_KEY": KEY.upper(),
}
ASK = """
import json
import django
django.setup()
from django.conf import settings
from django.test import Client

def asked(path, **options):
    answer = Client(headers={"host": "punctual.example.com"}).get(path, **options)
    return [answer.status_code, answer.get("Location", ""), answer.get("Strict-Transport-Security", "")]

print(json.dumps({
    "plain": asked("/api/docs"),
    "tls": asked("/api/docs", headers={"x-forwarded-proto": "https", "host": "punctual.example.com"}),
    "alive": asked("/healthz"),
    "cookies": [settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SESSION_COOKIE_HTTPONLY],
}))
"""


def environment(**changes: str) -> dict[str, str]:
    inherited = {"PATH": os.environ["PATH"], "PUNCTUAL_VAR": os.environ["PUNCTUAL_VAR"], "LOG_LEVEL": "ERROR"}
    given = {name: value for name, value in (GIVEN | changes).items() if value}
    return inherited | given | {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings"}


def ask(**changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASK],
        env=environment(**changes),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_where_no_proxy_is_trusted_nobody_is_believed_about_https() -> None:
    told = json.loads(ask(TRUSTED_PROXIES="0").stdout.splitlines()[-1])

    assert told["tls"][:2] == [301, "https://punctual.example.com/api/docs"]


def test_everything_but_probes_is_https_and_browsers_are_told_to_stay_with_it() -> None:
    done = ask()
    told = json.loads(done.stdout.splitlines()[-1] if done.stdout else done.stderr)

    assert told["plain"][:2] == [301, "https://punctual.example.com/api/docs"]
    assert told["tls"][0] == 200 and told["tls"][2].startswith("max-age=31536000")
    assert told["alive"][0] == 200
    assert told["cookies"] == [True, True, True]


@pytest.mark.parametrize(
    ("changes", "header"),
    [
        ({}, "max-age=31536000"),
        ({"HSTS_AGE": "1h"}, "max-age=3600"),
        ({"HSTS_AGE": "0"}, ""),
        ({"HSTS_SUBDOMAINS": "true"}, "max-age=31536000; includeSubDomains"),
        ({"HSTS_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"}, "max-age=31536000; includeSubDomains; preload"),
    ],
)
def test_browsers_are_told_about_this_host_and_of_others_only_if_asked(changes, header) -> None:
    done = ask(**changes)

    assert json.loads(done.stdout.splitlines()[-1])["tls"][2] == header


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"HSTS_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"}, ""),
        ({"HSTS_PRELOAD": "true"}, "HSTS_PRELOAD needs HSTS_SUBDOMAINS=true"),
        ({"HSTS_PRELOAD": "true", "HSTS_SUBDOMAINS": "true", "HSTS_AGE": "1d"}, "HSTS_PRELOAD needs"),
        ({"HSTS_AGE": "0"}, "security.W004"),
    ],
)
def test_a_deployment_check_has_nothing_to_say_about_browsers_or_says_why(changes, told) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--tag", "security", "--tag", "punctual"],
        env=environment(**changes),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert told in done.stderr if told else "no issues" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["SECRET_KEY", "JWT_SIGNING_KEY", "SECRETS_KEY"])
def test_it_does_not_start_without_its_keys(name) -> None:
    done = ask(**{name: ""})

    assert done.returncode and name in done.stderr.splitlines()[-1]
