"""Settings that do not go together are told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.core.checks import run_checks

from execution.outbound.signing import spell_secret
from jobs.alerts.operators import undeliverable
from scheduler_project.checks import PUNCTUAL, keys_that_cannot_be_guessed, too_few_connections

APPS = ("accounts", "execution", "jobs", "scheduler_project", "scheduling")


@pytest.mark.parametrize(("threads", "size", "told"), [(8, 20, False), (16, 20, False), (17, 20, True)])
def test_a_pool_too_small_for_the_threads_is_told_with_the_remedy(threads, size, told) -> None:
    found = too_few_connections(size, threads)

    assert [message.id for message in found] == (["punctual.W001"] if told else [])
    assert all("DATABASE_POOL_SIZE" in message.hint for message in found)


def test_a_key_that_could_be_guessed_is_told_and_how_to_make_a_better_one(settings) -> None:
    settings.SECRETS_OLD_KEYS, settings.SECRET_KEY_FALLBACKS = ["x" * 40, "changeme"], ["changeme"]

    messages = keys_that_cannot_be_guessed()

    assert {message.id for message in messages} == {"punctual.E003"}
    assert [message.msg.split(";")[0] for message in messages] == [
        "SECRETS_OLD_KEYS[1] has 8 bytes",
        "SECRET_KEY_FALLBACKS[0] has 8 bytes",
    ]
    assert all("token_urlsafe" in message.hint and "changeme" not in str(message) for message in messages)


@pytest.mark.parametrize(
    ("workers", "folder", "told"),
    [
        ("", "", False),
        ("1", "", False),
        ("2", "", True),
        ("16", "", True),
        ("2", "/run/counted", False),
        ("x", "", False),
    ],
)
def test_web_workers_that_each_count_for_themselves_are_told(monkeypatch, workers, folder, told) -> None:
    monkeypatch.setenv("GRANIAN_WORKERS", workers)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", folder)

    found = run_checks(tags=[PUNCTUAL])

    assert [message.id for message in found if "GRANIAN" in message.msg] == (["punctual.W004"] if told else [])
    assert all("PROMETHEUS_MULTIPROC_DIR" in message.hint for message in found if "GRANIAN" in message.msg)


@pytest.mark.parametrize(
    ("production", "proxies", "told"), [(True, 0, True), (True, 1, False), (True, 2, False), (False, 0, False)]
)
def test_pages_that_redirect_to_themselves_are_told(settings, production, proxies, told) -> None:
    settings.PRODUCTION, settings.TRUSTED_PROXIES = production, proxies

    found = [message for message in run_checks(tags=[PUNCTUAL]) if "TRUSTED_PROXIES" in message.msg]

    assert [message.id for message in found] == (["punctual.W007"] if told else [])


def test_web_workers_say_themselves_that_each_counts_for_itself(tmp_path) -> None:
    told = {name: value for name, value in os.environ.items() if name != "PROMETHEUS_MULTIPROC_DIR"}
    told |= {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings", "PUNCTUAL_VAR": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-c", "import scheduler_project.wsgi"],
        cwd=configured.BASE_DIR,
        env=told | {"GRANIAN_WORKERS": "3", "LOG_LEVEL": "WARNING", "LOG_FORMAT": "json"},
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )

    [line] = [json.loads(line) for line in ended.stderr.splitlines()]
    assert line["event"] == "settings.punctual.W004" and "GRANIAN_WORKERS=1" in line["remedy"]


@pytest.mark.parametrize(
    ("emails", "url", "secret", "told"),
    [
        ([], "", "", []),
        (["ops@example.com"], "https://example.com/hook", spell_secret(b"k" * 32), []),
        (["ops"], "", "", ["ALERT_EMAILS"]),
        ([], "http://169.254.169.254/", "", ["ALERT_WEBHOOK"]),
        ([], "https://example.com/hook", "guess", ["ALERT_WEBHOOK_SECRET"]),
    ],
)
def test_alerts_that_would_reach_nobody_are_told_before_they_are_needed(emails, url, secret, told) -> None:
    assert [fault.partition(":")[0] for fault in undeliverable(emails, url, secret)] == told


def test_no_two_checks_have_the_same_id() -> None:
    sources = [path for app in APPS for path in Path(configured.BASE_DIR, app).rglob("*.py")]
    given = Counter(found for path in sources for found in re.findall(r'id="(punctual\.\w+)"', path.read_text()))

    assert given and [found for found, times in given.items() if times > 1] == []
