"""compose.yaml holds together. There may be no Docker to ask, so the rules are checked here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploying import (
    FULL_MODE_NEEDS,
    PINNED,
    PRODUCTION_NEEDS,
    ROOT,
    complaints,
    compose,
    in_container,
    parse_command,
    settings_read,
    unknown,
)

SERVICES = compose()["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
# The files and ports of these containers: another value would have to be in more places than .env.
HELD_BY_THE_CONTAINERS = {"METRICS_HOST", "METRICS_PORT", "PULSE_FILE", "PUNCTUAL_VAR", "STATIC_ROOT"}
each_service = pytest.mark.parametrize("name", SERVICES)
each_of_ours = pytest.mark.parametrize("name", OURS)


def test_everything_that_belongs_to_a_system_is_in_it() -> None:
    assert set(OURS) == {"web", "poller", "executor", "recoverer", "watcher", "migrate", "simulator"}
    assert set(SERVICES) - set(OURS) == {"postgres", "redis", "rabbitmq", "mail", "prometheus", "grafana"}


def test_it_is_written_as_compose_specifies() -> None:
    assert complaints("check-jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "compose.yaml") == ""


def env_file(path: Path) -> dict[str, str]:
    """What deploy/make-env.sh writes."""
    subprocess.run([ROOT / "deploy/make-env.sh", path], check=True, capture_output=True)
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


@each_service
def test_what_a_service_waits_for_can_come_true(name) -> None:
    for other, wanted in SERVICES[name].get("depends_on", {}).items():
        match wanted["condition"]:
            case "service_healthy":
                assert "test" in SERVICES[other]["healthcheck"]
            case "service_completed_successfully":
                assert SERVICES[other]["restart"] == "no"
            case condition:
                pytest.fail(f"{name} waits for {other} to be {condition}")


@each_service
def test_a_service_says_whether_it_is_well_unless_it_ends_by_itself(name) -> None:
    ends = SERVICES[name]["restart"] == "no"

    assert SERVICES[name]["healthcheck"].get("disable", False) is ends
    assert ends or "test" in SERVICES[name]["healthcheck"]


@each_service
def test_images_are_named_exactly(name) -> None:
    assert name in OURS or PINNED.search(SERVICES[name]["image"])


def test_servers_are_supported_by_their_makers_in_2027() -> None:
    page = (ROOT / "docs/versions.md").read_text()
    listed = dict(re.findall(r"^\| `(\S+:\S+)` \| (.+) \|$", page, re.MULTILINE))
    ends = [day for until in listed.values() for day in re.findall(r"\d{4}-\d\d-\d\d", until)]

    assert listed.keys() == {service["image"] for name, service in SERVICES.items() if name not in OURS}
    assert len(ends) > 3 and min(ends) > "2027"


@each_service
def test_any_service_can_be_scaled_and_none_is_reached_from_other_machines(name) -> None:
    assert "container_name" not in SERVICES[name]
    assert all(re.match(r"127\.0\.0\.1:\$\{\w*PORT:-\d+\}:\d+$", port) for port in SERVICES[name].get("ports", []))


def test_executors_take_no_port_so_that_there_can_be_ten() -> None:
    assert not {"ports", "hostname"} & SERVICES["executor"].keys()


@each_service
def test_volumes_are_declared_or_folders_of_ours(name) -> None:
    for volume in SERVICES[name].get("volumes", []):
        source, *rest = volume.split(":")
        if source.startswith("."):
            assert (ROOT / source).resolve().is_relative_to(ROOT) and (ROOT / source).is_dir() and rest[-1] == "ro"
        else:
            assert source in compose()["volumes"]


@each_of_ours
def test_each_variable_is_read_by_somebody_and_the_servers_are_named(name) -> None:
    given = set(OURS[name]["environment"])

    assert unknown(given) == set()
    assert given >= FULL_MODE_NEEDS | {"EMAIL_URL"}


@each_of_ours
def test_every_setting_in_env_reaches_every_process(name) -> None:
    written = {setting: f"the value of {setting}" for setting in settings_read()}

    found = in_container(OURS[name], written)

    assert {setting for setting in written if found[setting] != written[setting]} <= HELD_BY_THE_CONTAINERS


def test_what_make_env_writes_is_all_that_is_needed(tmp_path) -> None:
    written = env_file(tmp_path / ".env")

    assert written.keys() >= PRODUCTION_NEEDS - {"ALLOWED_HOSTS"}


@each_service
def test_no_secret_is_in_the_file(name) -> None:
    for variable, value in SERVICES[name].get("environment", {}).items():
        if re.search(r"KEY|PASS|AUTH|_URL", variable) and variable not in ("EMAIL_URL", "WATCHER_PING_URL"):
            assert re.search(r"\$\{\w+:\?", value), variable


@pytest.mark.parametrize("name", [name for name, service in OURS.items() if "command" in service])
def test_each_command_takes_the_arguments_it_is_given(name) -> None:
    parse_command(OURS[name]["command"])


@pytest.mark.parametrize("name", ["poller", "executor", "recoverer", "watcher"])
def test_prometheus_finds_every_process(name) -> None:
    assert OURS[name]["environment"]["METRICS_PORT"] == 9100


def test_what_runs_gets_its_time_before_it_is_killed() -> None:
    assert all(
        service["stop_grace_period"] == "40s" for service in OURS.values()
    )  # STOP_GRACE, END_GRACE twice, and some


def test_redis_keeps_the_index_when_memory_is_short() -> None:
    command = SERVICES["redis"]["command"]

    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


@pytest.mark.parametrize("production", ["false", "true"])
def test_the_settings_can_be_read_with_what_they_are_given(tmp_path, production) -> None:
    path = tmp_path / ".env"
    environment = in_container(SERVICES["web"], env_file(path) | {"PRODUCTION": production})

    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--tag", "punctual", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | environment | {"PUNCTUAL_VAR": str(tmp_path), "STATIC_ROOT": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
