"""The units start what there is, as those who watch it expect."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scheduler_project import serve
from tests.deploying import ROOT, parse_command, unknown
from tests.missing import needed

UNITS = ROOT / "deploy/systemd"
COMMON = (UNITS / "punctual-.service.d/common.conf").read_text()
SERVICES = {file.stem: file.read_text().replace("\\\n", " ") for file in sorted(UNITS.glob("*.service"))}
HOME = "/opt/punctual/.venv/bin/"


def command(unit: str) -> list[str]:
    [line] = re.findall(r"^ExecStart=(.*)$", SERVICES[unit].replace("%i", "01"), re.MULTILINE)
    return shlex.split(line)


def test_there_is_a_unit_for_each_kind_of_process() -> None:
    assert list(SERVICES) == [
        "punctual-executor@",
        "punctual-poller",
        "punctual-recoverer",
        "punctual-watcher",
        "punctual-web",
    ]
    assert all("WantedBy=punctual.target" in text for text in SERVICES.values())


@pytest.mark.parametrize("unit", [unit for unit in SERVICES if unit != "punctual-web"])
def test_a_daemon_is_started_with_arguments_that_it_knows(unit: str) -> None:
    python, *arguments = command(unit)

    assert python == f"{HOME}python"
    parse_command(["python", *arguments])


def test_the_web_is_started_with_arguments_that_its_server_knows() -> None:
    program, *arguments = command("punctual-web")

    assert (program, arguments[:2]) == (f"{HOME}python", ["-m", "scheduler_project.serve"])
    assert serve.parser().parse_args(arguments[2:]).detached


def test_every_setting_is_read_by_somebody() -> None:
    said = re.findall(r"^Environment=(.*)$", "\n".join([COMMON, *SERVICES.values()]), re.MULTILINE)
    names = {pair.partition("=")[0] for line in said for pair in line.split()}

    assert unknown(names - {"LOG_FORMAT"}) == set()


def test_prometheus_looks_where_the_units_listen() -> None:
    scraped = yaml.safe_load((ROOT / "deploy/prometheus/one-machine.yml").read_text())["scrape_configs"]
    targets = {one["job_name"]: one["static_configs"][0]["targets"] for one in scraped}
    ports = {unit: re.search(r"(?:-port|serve 127\.0\.0\.1) (\S+)", text)[1] for unit, text in SERVICES.items()}

    assert targets == {
        "web": [f"127.0.0.1:{ports['punctual-web']}"],
        "poller": [f"127.0.0.1:{ports['punctual-poller']}"],
        "recoverer": [f"127.0.0.1:{ports['punctual-recoverer']}"],
        "watcher": [f"127.0.0.1:{ports['punctual-watcher']}"],
        "executor": [f"127.0.0.1:{ports['punctual-executor@'].replace('%i', number)}" for number in ("01", "02")],
    }


def test_systemd_understands_them_and_finds_little_to_attack(tmp_path: Path) -> None:
    analyze = needed("systemd-analyze", package="systemd")
    units = tmp_path / "units"
    shutil.copytree(UNITS, units)
    (units / "punctual-executor@.service").rename(units / "punctual-executor@01.service")
    for file in [*units.glob("*.service"), *units.glob("*/*.conf")]:  # on a machine without that account and folder
        text = file.read_text().replace(HOME, f"{sys.prefix}/bin/").replace("/opt/punctual", str(ROOT))
        file.write_text(text.replace("User=punctual", "User=root"))
    env = os.environ | {"SYSTEMD_UNIT_PATH": f"{units}:"}

    for file in sorted(units.glob("*.service")):
        for act in (["verify", "--man=no"], ["security", "--offline=true", "--threshold=25", "--no-pager"]):
            ran = subprocess.run([analyze, *act, str(file)], env=env, capture_output=True, text=True, timeout=60)
            complaints = [line for line in ran.stderr.splitlines() if "punctual" in line]
            assert ran.returncode == 0 and complaints == [], ran.stdout + ran.stderr
