"""What the environment may say, and what is refused with its remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from scheduler_project import env
from scheduler_project.durations import parse_duration
from scheduler_project.names import misspelt
from tests.deploying import ROOT

NAME = "TEST_OF_THE_ENVIRONMENT"
KNOWN = env.known_names()  # those of the settings under test, which are the shipped ones
SECRETS = {
    "SECRET_KEY": "k" * 64,
    "SECRET_KEY_FALLBACKS": "f" * 64,
    "JWT_SIGNING_KEY": "j" * 64,
    "SECRETS_KEY": "s" * 64,
    "SECRETS_OLD_KEYS": "o" * 64,
    "DATABASE_URL": "postgres://me:hidden@127.0.0.1:5432/mine",
    "REDIS_URL": "redis://:hidden@127.0.0.1:6379/0",
    "AMQP_URL": "amqp://me:hidden@127.0.0.1:5672/",
    "EMAIL_URL": "smtp+tls://me:hidden@127.0.0.1:587",
    "S3_ACCESS_KEY": "an access key",
    "S3_SECRET_KEY": "a secret key",
    "ALERT_WEBHOOK": "https://example.com/hidden",
    "ALERT_WEBHOOK_SECRET": "whsec_aGlkZGVu",
    "WATCHER_PING_URL": "https://example.com/ping/hidden",
}


OF_OTHERS = """
    PATH HOME USER SHELL LANG LC_ALL TERM PWD HOSTNAME LOGNAME TZ EDITOR PAGER COLUMNS DISPLAY XDG_RUNTIME_DIR
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy no_proxy HTTP_PORT HTTPS_PORT PORT MAIL_PORT HOST DEBUG_COLORS
    OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT OTEL_TRACES_SAMPLER GRANIAN_PORT GRANIAN_WORKERS
    KUBERNETES_SERVICE_HOST KUBERNETES_PORT KUBERNETES_PORT_443_TCP WEB_PORT WEB_SERVICE_HOST WEB_PORT_80_TCP_ADDR
    AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN
    AWS_CONTAINER_CREDENTIALS_FULL_URI DJANGO_SETTINGS_MODULE PYTHONUNBUFFERED PYTHONPATH VIRTUAL_ENV PIP_INDEX_URL
    PROMETHEUS_MULTIPROC_DIR POSTGRES_PASSWORD POSTGRES_USER REDIS_PASSWORD REDIS_HOST REDIS_PORT REDISCLI_AUTH
    RABBITMQ_PASSWORD GRAFANA_PASSWORD GRAFANA_PORT PROMETHEUS_PORT SIMULATE_RATE PUNCTUAL_IMAGE PUNCTUAL_URL
    PUNCTUAL_KEY PUNCTUAL_TOKEN PUNCTUAL_USER PUNCTUAL_PASSWORD PUNCTUAL_TENANT PUNCTUAL_TEST_MODE DATABASE_HOST
    DATABASE_NAME DATABASE_PASSWORD DB_URL EMAIL_HOST EMAIL_PORT LOG_DIR LOG_FILE S3_HOST S3_PREFIX IMAGE_TAG
    STATIC_URL WORKER_ID WORKERS WEB_CONCURRENCY WEB_MEMORY EXECUTOR_NUMBER JENKINS_URL CI GITHUB_ACTIONS GITHUB_JOB
    GITHUB_TOKEN SSH_AUTH_SOCK SSH_CONNECTION SYSTEMD_EXEC_PID INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET MAIL
    SECRETS_MANAGER_ARN
    SSL_CERT_FILE CURL_CA_BUNDLE PGPASSWORD PGHOST MAKEFLAGS MAKELEVEL OLDPWD SHLVL LESS HISTFILE HISTSIZE _
"""


@pytest.fixture(autouse=True)
def restored(monkeypatch) -> None:
    monkeypatch.setattr(env, "known", dict(env.known))


def settings_with(path: Path, ask: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Ask the shipped settings something in a process with nothing but this environment."""
    return subprocess.run(
        [sys.executable, "-c", f"from scheduler_project import settings\n{ask}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PUNCTUAL_VAR": str(path)} | given,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90d", 90 * 86_400),
        ("12h", 43_200),
        ("30m", 1800),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("2m500ms", 120.5),
        ("1w2d3h4m5s6ms", 788_645.006),
        ("1.5h", 5400),
        ("45", 45),
        ("0.05", 0.05),
        (" 10s ", 10),
        ("0", 0),
    ],
)
def test_a_length_of_time_may_have_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "d", "h30m", "30m1h", "1h1h", "-5", "-5s", "5 s", "5S", "5y", "1e9", "nan", "inf", "٣d", "9" * 13]
)
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"length of time|longer than"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0", "soon", "-1", "0s"])
def test_a_wrong_length_of_time_is_told_with_its_name(monkeypatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(ImproperlyConfigured, match=NAME):
        env.env_seconds(NAME, 5)


@pytest.mark.parametrize(("text", "kept"), [("", 90), ("forever", None), ("0", None), ("Forever", None), ("30d", 30)])
def test_what_is_kept_may_be_kept_forever(monkeypatch, text: str, kept: int | None) -> None:
    monkeypatch.setenv(NAME, text)

    assert env.env_kept(NAME, "90d") == (None if kept is None else timedelta(days=kept))


@pytest.mark.parametrize("text", ["90", "365", "3599.9"])
def test_a_retention_of_less_than_an_hour_needs_a_unit(monkeypatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(ImproperlyConfigured, match=f"lacks a unit. Set it to {text}d for days, or {text}s for seconds"):
        env.env_kept(NAME, "90d")
    with pytest.raises(ImproperlyConfigured, match="lacks a unit"):
        env.env_retention(NAME, "30d")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("7776000", 7_776_000), ("3600", 3600)])
def test_a_retention_may_be_in_seconds(monkeypatch, text: str, seconds: int) -> None:
    monkeypatch.setenv(NAME, text)

    assert env.env_kept(NAME) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["ture", "2", "enabled", "tru e"])
def test_a_flag_that_is_neither_true_nor_false_is_refused(monkeypatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(ImproperlyConfigured, match=f"{NAME}.*neither true nor false"):
        env.env_flag(NAME, False)


@pytest.mark.parametrize(("text", "flag"), [("true", True), ("TRUE", True), ("1", True), ("no", False), ("0", False)])
def test_a_flag_overrides_its_default(monkeypatch, text: str, flag: bool) -> None:
    monkeypatch.setenv(NAME, text)

    assert env.env_flag(NAME, not flag) is flag


def test_a_variable_that_is_empty_is_not_set(tmp_path) -> None:
    ask = "print({name: repr(vars(settings)[name]) for name in vars(settings) if name.isupper() and name != 'UNFOLD'})"

    plain = settings_with(tmp_path, ask)
    empty = settings_with(tmp_path, ask, **dict.fromkeys(KNOWN - {"PUNCTUAL_VAR"}, ""))

    assert plain.returncode == empty.returncode == 0, plain.stderr + empty.stderr
    assert eval(plain.stdout) == eval(empty.stdout)


def test_a_secret_may_be_in_a_file(tmp_path) -> None:
    files = {}
    for name, value in SECRETS.items():
        (path := tmp_path / name.lower()).write_text(f"{value}\n")
        files[f"{name}_FILE"] = str(path)
    ask = """
import json
print(json.dumps({
    "SECRET_KEY": settings.SECRET_KEY, "JWT_SIGNING_KEY": settings.JWT_SIGNING_KEY, "SECRETS_KEY": settings.SECRETS_KEY,
    "REDIS_URL": settings.REDIS_URL, "AMQP_URL": settings.AMQP_URL, "ALERT_WEBHOOK": settings.ALERT_WEBHOOK,
    "SECRETS_OLD_KEYS": settings.SECRETS_OLD_KEYS[0], "WATCHER_PING_URL": settings.WATCHER_PING_URL,
    "SECRET_KEY_FALLBACKS": settings.SECRET_KEY_FALLBACKS[0],
    "ALERT_WEBHOOK_SECRET": settings.ALERT_WEBHOOK_SECRET, "EMAIL_URL": settings.EMAIL_URL,
    "S3_ACCESS_KEY": settings._S3["OPTIONS"]["access_key"], "S3_SECRET_KEY": settings._S3["OPTIONS"]["secret_key"],
    "password": settings.DATABASES["default"]["PASSWORD"], "mail": settings.EMAIL_HOST_PASSWORD,
}))"""

    done = settings_with(tmp_path, ask, PRODUCTION="true", S3_BUCKET="files", **files)

    assert done.returncode == 0, done.stderr
    told = {name: value for name, value in SECRETS.items() if name != "DATABASE_URL"}
    assert eval(done.stdout) == told | {"password": "hidden", "mail": "hidden"}
    assert {name for name, secret in env.known.items() if secret} == set(SECRETS)


@pytest.mark.parametrize(
    ("value", "content", "told"),
    [("given twice", "x", "both set"), ("", None, "cannot be read"), ("", " \n", "empty file")],
)
def test_a_file_that_gives_no_secret_is_told(monkeypatch, tmp_path, value, content, told) -> None:
    if content is not None:
        (tmp_path / "secret").write_text(content)
    monkeypatch.setenv("S3_SECRET_KEY", value)
    monkeypatch.setenv("S3_SECRET_KEY_FILE", str(tmp_path / "secret"))

    with pytest.raises(ImproperlyConfigured, match=f"S3_SECRET_KEY.*{told}") as raised:
        env.env_secret("S3_SECRET_KEY")

    assert "given twice" not in str(raised.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("POLL_INTERVALL", "POLL_INTERVAL"),
        ("EXECUTOR_THREDS", "EXECUTOR_THREADS"),
        ("HISTROY_KEPT", "HISTORY_KEPT"),
        ("HISTORY_KEEP", "HISTORY_KEPT"),
        ("HISTORY_KEPT_DAYS", "HISTORY_KEPT"),
        ("HISTORY_RETENTION", "HISTORY_NOTICE"),
        ("PRODUCTON", "PRODUCTION"),
        ("ALLOWED_HOST", "ALLOWED_HOSTS"),
        ("redis_url", "REDIS_URL"),
        ("REDIS_URI", "REDIS_URL"),
        ("PUNCTUAL_DATABASE_URL", "DATABASE_URL"),
        ("SECRET_KEY_FILES", "SECRET_KEY_FILE"),
        ("POLL_BATCH_FILE", "POLL_BATCH"),
    ],
)
def test_a_misspelt_setting_is_told_with_the_nearest_one(written: str, meant: str) -> None:
    assert misspelt([written], KNOWN) == {written: meant}


def test_what_belongs_to_others_is_left_alone() -> None:
    assert misspelt(OF_OTHERS.split(), KNOWN) == {}
    assert misspelt(KNOWN, KNOWN) == {}


def test_variables_of_a_kubernetes_service_are_not_taken_for_settings() -> None:
    names = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT", "PORT_8000_TCP", "PORT_8000_TCP_ADDR"]

    assert misspelt([f"WATCHER_{name}" for name in names], KNOWN) == {}
    assert misspelt(["WATCHER_PORT"], KNOWN) != {}, "without its Service it is ours"


@pytest.mark.parametrize(
    "command",
    [
        ["-c", "import scheduler_project.wsgi"],
        ["manage.py", "check", "--tag", "punctual"],
        *(["manage.py", f"run_{daemon}", "--once"] for daemon in ("poller", "executor", "recoverer", "watcher")),
    ],
    ids=["web", "check", "poller", "executor", "recoverer", "watcher"],
)
def test_each_process_says_at_its_start_which_names_nobody_reads(tmp_path, command) -> None:
    given = {"PATH": os.environ["PATH"], "PUNCTUAL_VAR": str(tmp_path), "LOG_FORMAT": "json"}

    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=given | {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings", "POLL_INTERVALL": "5m"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert "POLL_INTERVALL is not a setting" in done.stderr and "Rename it to POLL_INTERVAL," in done.stderr


@pytest.mark.parametrize(
    "command",
    [["manage.py", "run_poller"], ["manage.py", "migrate"], ["-m", "scheduler_project.serve", "--detached"]],
    ids=["daemon", "command", "web"],
)
def test_a_process_that_a_setting_keeps_from_starting_says_so_in_one_line(tmp_path, command) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PUNCTUAL_VAR": str(tmp_path), "POLL_INTERVAL": "5 minutes"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 1
    assert [line[: len("POLL_INTERVAL: '5 minutes'")] for line in done.stderr.splitlines()] == [
        "POLL_INTERVAL: '5 minutes'"
    ]
