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


def ask(**changes: str) -> subprocess.CompletedProcess[str]:
    inherited = {"PATH": os.environ["PATH"], "PUNCTUAL_VAR": os.environ["PUNCTUAL_VAR"], "LOG_LEVEL": "ERROR"}
    given = {name: value for name, value in (GIVEN | changes).items() if value}
    return subprocess.run(
        [sys.executable, "-c", ASK],
        env=inherited | given | {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_everything_but_probes_is_https_and_browsers_are_told_to_stay_with_it() -> None:
    done = ask()
    told = json.loads(done.stdout.splitlines()[-1] if done.stdout else done.stderr)

    assert told["plain"][:2] == [301, "https://punctual.example.com/api/docs"]
    assert told["tls"][0] == 200 and told["tls"][2].startswith("max-age=31536000")
    assert told["alive"][0] == 200
    assert told["cookies"] == [True, True, True]


@pytest.mark.parametrize("name", ["SECRET_KEY", "JWT_SIGNING_KEY", "SECRETS_KEY"])
def test_it_does_not_start_without_its_keys(name) -> None:
    done = ask(**{name: ""})

    assert done.returncode and name in done.stderr.splitlines()[-1]
