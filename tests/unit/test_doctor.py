"""What the doctor makes of what it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.checks import Error

from scheduler_project.doctor import carrier, configuration, database, index, machine
from scheduler_project.doctor.findings import Finding, Level

VAR = Path("/var/lib/punctual")
GIGABYTE = 1024**3


def only(found: list[Finding]) -> Finding:
    [one] = found
    assert one.fact and one.remedy
    return one


def test_a_disk_that_is_nearly_full_and_one_that_is() -> None:
    assert machine.little_room(VAR, free=5 * GIGABYTE, writable=True) == []
    assert only(machine.little_room(VAR, free=GIGABYTE // 2, writable=True)).level is Level.WARNING
    full = only(machine.little_room(VAR, free=1024, writable=True))
    assert full.level is Level.ERROR and "PUNCTUAL_VAR" in full.remedy


def test_a_folder_that_cannot_be_written_to() -> None:
    assert "chown" in only(machine.little_room(VAR, free=5 * GIGABYTE, writable=False)).remedy


@pytest.mark.parametrize("seconds", [-90, 3])
def test_clocks_that_differ(seconds) -> None:
    assert "NTP" in only(machine.skew(timedelta(seconds=seconds))).remedy
    assert machine.skew(timedelta(seconds=0.2)) == []


def test_debug_in_production() -> None:
    assert only(configuration.open_to_strangers(debug=True, production=True, embedded=False)).level is Level.ERROR
    assert configuration.open_to_strangers(debug=False, production=True, embedded=False) == []


def test_mail_that_reaches_nobody() -> None:
    assert "EMAIL_URL" in only(configuration.mail_stays(email_url="", embedded=False)).remedy
    assert configuration.mail_stays(email_url="smtp://x", embedded=False) == []


def test_registration_that_is_open_to_strangers_in_production() -> None:
    told = configuration.registration_of_strangers(registration="open", production=True)

    assert "REGISTRATION=invited" in only(told).remedy
    assert configuration.registration_of_strangers(registration="open", production=False) == []
    assert configuration.registration_of_strangers(registration="invited", production=True) == []


def test_mail_of_strangers_in_production() -> None:
    told = configuration.mail_of_strangers(needs_verified_owner=False, rates=(1, 1), production=True)
    unlimited = configuration.mail_of_strangers(needs_verified_owner=True, rates=(1, 0), production=True)

    assert only(told).code == "settings.mail_unverified" and only(unlimited).code == "settings.mail_unlimited"
    assert configuration.mail_of_strangers(needs_verified_owner=True, rates=(1, 1), production=True) == []
    assert configuration.mail_of_strangers(needs_verified_owner=False, rates=(0, 0), production=False) == []


@pytest.mark.parametrize("host", ["*", ".example.com", "*.example.com"])
def test_mailed_links_that_a_stranger_could_have_lead_elsewhere(host) -> None:
    assert "PUBLIC_URL" in only(configuration.links_to_any_host(allowed=["a", host], public_url="")).remedy
    assert configuration.links_to_any_host(allowed=["a", host], public_url="https://a") == []
    assert configuration.links_to_any_host(allowed=["punctual.example.com"], public_url="") == []


def test_an_sqlite_file_that_several_machines_use() -> None:
    told = configuration.not_shared(["a", "b"], unset_keys=[], bucket="files", sqlite=True)

    assert only(told).code == "settings.sqlite_on_many_machines"
    assert configuration.not_shared(["a"], unset_keys=["SECRET_KEY"], bucket="", sqlite=True) == []


def test_what_a_check_of_the_settings_says_is_a_finding() -> None:
    told = configuration.as_finding(Error("A key is short.", hint="Make a longer one.", id="punctual.E003"))

    assert (told.level, told.code, told.remedy) == (Level.ERROR, "settings.punctual.E003", "Make a longer one.")


@pytest.mark.parametrize(
    ("vendor", "version", "told"),
    [("postgresql", (13, 9), True), ("postgresql", (15, 0), False), ("sqlite", (3, 31, 1), True)],
)
def test_a_database_that_is_too_old(vendor, version, told) -> None:
    assert bool(database.too_old(vendor, version)) is told


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("fsync", "database.loses_data"),
        ("full_page_writes", "database.loses_data"),
        ("synchronous_commit", "database.forgets_the_last_moment"),
        ("autovacuum", "database.never_vacuums"),
    ],
)
def test_a_careless_postgresql(name, code) -> None:
    one = only(database.careless({name: "off"}))

    assert one.code == code and name in one.fact and name in one.remedy


def test_few_connections_left() -> None:
    assert "max_connections" in only(database.nearly_full(95, 100)).remedy
    assert database.nearly_full(20, 100) == []


def test_an_sqlite_file_without_a_write_ahead_log() -> None:
    assert "delete" in only(database.sqlite_journal("delete")).fact


def test_much_history_and_nobody_prunes_it() -> None:
    assert "HISTORY_KEPT" in only(database.much_history(30_000_000)).remedy


def test_a_redis_in_trouble() -> None:
    well = {"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1"}

    assert index.of_redis(well) == []
    assert only(index.of_redis(well | {"redis_version": "6.0.9"})).code == "redis.too_old"
    assert only(index.of_redis(well | {"maxmemory_policy": "allkeys-lru"})).code == "redis.evicts"
    assert only(index.of_redis(well | {"maxmemory_policy": "volatile-lru"})).code == "redis.evicts"
    assert only(index.of_redis(well | {"aof_last_write_status": "err"})).code == "redis.cannot_save"
    assert only(index.of_redis(well | {"aof_enabled": "0", "save": ""})).code == "redis.keeps_nothing"


def test_a_redis_that_has_little_memory_left_and_one_that_has_none() -> None:
    def told(used: int, most: int, policy: str = "noeviction") -> list[Finding]:
        memory = {"used_memory": str(used), "maxmemory": str(most), "maxmemory_policy": policy}
        return index.of_redis({"redis_version": "7.0.15", **memory})

    assert told(89, 100) == told(GIGABYTE, 0) == []
    assert only(told(95, 100)).level is Level.WARNING
    assert only(told(100, 100)).level is Level.ERROR
    assert [one.code for one in told(100, 100, "allkeys-lru")] == ["redis.evicts"]


def test_a_rabbitmq_that_is_too_old() -> None:
    assert only(carrier.too_old("3.6.1")).code == "rabbitmq.too_old"
    assert carrier.too_old("3.10.8") == []


def test_servers_that_do_not_answer_are_told_each_with_its_remedy(tmp_path) -> None:
    nowhere = {
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "AMQP_URL": "amqp://guest:guest@127.0.0.1:1/%2F",
        "PUNCTUAL_VAR": str(tmp_path),
    }

    ended = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        env={**os.environ, **nowhere, "DJANGO_SETTINGS_MODULE": "scheduler_project.settings"},
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )

    told = {one["code"]: one["remedy"] for one in json.loads(ended.stdout)["findings"]}
    assert ended.returncode == 2
    assert "DATABASE_URL" in told["database.unreachable"]
    assert "REDIS_URL" in told["redis.unreachable"] and "AMQP_URL" in told["rabbitmq.unreachable"]
