"""Who follows the page about operations from a clone has a system in full mode, with its dashboards."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from tests.deployed import alerts
from tests.missing import obtained, part_not_tried
from tests.pages import section, steps
from tests.servers.order import Unavailable
from tests.whole.machine import here
from tests.whole.processes import eventually, free_port

pytestmark = pytest.mark.skipif(
    not (settings.REDIS_URL and settings.AMQP_URL), reason="the page is about the full mode"
)

ROOT = settings.BASE_DIR
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
CHAPTER = section(PAGE, "One machine without Docker")
PORTS = {"web": 8000, "poller": 9101, "recoverer": 9102, "watcher": 9103, "executor 1": 9201, "executor 2": 9202}
PORTS |= {"prometheus": 9090}
ADMINISTRATORS = ("apt-get", "useradd", "runuser", "rabbitmqctl", "systemctl")  # programs that others stand in for
ANNOUNCED = {"settings.mail_stays_here": "WARNING", "settings.not_production": "NOTE"}  # by the page, of the doctor
OF_TUNED_SERVERS = {  # a test's data is worth nothing a minute later
    "database.loses_data",
    "database.forgets_the_last_moment",
    "database.never_vacuums",
    "redis.keeps_nothing",
}
WALK = 300  # seconds for all of it, on a machine with much else to do
NOT_CLONED = shutil.ignore_patterns(
    ".git", ".venv*", "var", "*_cache", "__pycache__", ".env", "node_modules", "results"
)


class Machine:
    """A clone, folders for what the page writes elsewhere, and stand-ins for an administrator's programs."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.ports = {name: free_port() for name in PORTS}
        self.database = database
        self.differs = {
            "/opt/punctual": str(folder / "clone"),
            "/var/lib/punctual": str(folder / "state"),
            **{str(port): str(self.ports[name]) for name, port in PORTS.items()},
        }
        shutil.copytree(ROOT, folder / "clone", ignore=NOT_CLONED)
        (folder / "clone/.venv").symlink_to(Path(sys.prefix))
        for place in ("etc/systemd/system", "etc/prometheus", "bin", "state"):
            (folder / place).mkdir(parents=True)
        for name in ADMINISTRATORS:
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/whole/machine.py {name} "$@"\n')
            program.chmod(0o755)
        (folder / "known.json").write_text(json.dumps({"folder": str(folder), "differs": self.differs}))

    def type(self, commands: str) -> subprocess.CompletedProcess[str]:
        """Do as the page says, as somebody with an empty environment."""
        commands = here(commands, self.differs | {"/etc/": f"{self.folder}/etc/"})
        servers = {"DATABASE_URL": self.database, "REDIS_URL": settings.REDIS_URL, "AMQP_URL": settings.AMQP_URL}
        for name, url in servers.items():
            commands = re.sub(rf"^{name}=.*$", f"{name}={url}", commands, flags=re.MULTILINE)
        # Theirs are shared with others, who have names of their own.
        commands = commands.replace("\nEND\n", f"\nNAME_PREFIX={settings.NAME_PREFIX}\nEND\n", 1)
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": str(self.folder), "STAND_IN": str(self.folder / "known.json")}
        return subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{commands}"], env=env, capture_output=True, text=True, timeout=WALK
        )

    def scrape(self, name: str) -> str:
        return self.get(name, "/metrics")

    def get(self, name: str, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[name]}{path}", timeout=20) as answer:
            return answer.read().decode()

    @property
    def called(self) -> list[str]:
        return (self.folder / "called").read_text().splitlines()

    def running(self) -> dict[int, str]:
        pids = self.folder / "pids"
        lines = [line.split() for line in pids.read_text().splitlines()] if pids.exists() else []
        return {int(pid): unit for pid, unit in lines if Path(f"/proc/{pid}").exists() and not _is_over(int(pid))}

    def stop(self) -> None:
        try:
            for pid in self.running():
                os.kill(pid, signal.SIGTERM)
            eventually(lambda: not self.running())
        finally:
            for pid in self.running():
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)


def _is_over(pid: int) -> bool:
    """Ended, and its parent has not asked how."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.fixture
def machine(tmp_path: Path, database: str) -> Iterator[Machine]:
    machine = Machine(tmp_path, database)
    yield machine
    machine.stop()


def prometheus_is_here() -> bool:
    """With promtool, which comes in the same package. Without them all the other steps can still be typed."""
    try:
        return all(obtained(program, package="prometheus") for program in ("prometheus", "promtool"))
    except Unavailable as error:
        part_not_tried(f"The step with Prometheus: {error.reason}. {error.remedy}")
        return False


@pytest.mark.timeout(2 * WALK)
def test_every_step_without_docker_works_as_it_stands(machine: Machine) -> None:
    typed_in, shown = zip(*steps(CHAPTER), strict=True)
    if not (watched := prometheus_is_here()):
        typed_in = [re.sub(r"(?m)^until promtool.*\n", "", step) for step in typed_in]

    # It ends with 1, for the warning that the page announces; with 2 where the servers are tuned for speed.
    typed = machine.type("".join(typed_in).replace("manage.py doctor", "manage.py doctor > doctor || [ $? -le 2 ]"))

    logs = "".join(file.read_text()[-2000:] for file in machine.folder.glob("*.log"))
    assert typed.returncode == 0, typed.stdout + typed.stderr + logs

    # What the page shows is what comes.
    [answer] = filter(None, shown)
    assert json.loads(answer) == json.loads(machine.get("web", "/readyz"))
    assert '"status":"COMPLETED"' in typed.stdout.replace(" ", "")
    assert list((machine.folder / "state/mail").iterdir())

    # The doctor finds what the page announces, and nothing else.
    told = (machine.folder / "clone/doctor").read_text()
    found = {code: level for level, code in re.findall(r"(?m)^([A-Z]+) .*\n +→ .*\[([\w.]+)\]$", told)}
    assert {code: level for code, level in found.items() if code not in OF_TUNED_SERVERS} == ANNOUNCED, told

    # Every process runs by its unit, and shows its numbers.
    started = {"web", "poller", "recoverer", "watcher", "executor@01", "executor@02"}
    assert set(machine.running().values()) - {"prometheus"} == {f"punctual-{role}" for role in started}
    for name, number in {
        "web": "django_http_requests_total_by_method_total",
        "poller": "due_index_size",
        "recoverer": "queue_depth",
        "watcher": "incidents_open",
        "executor 1": "tasks_inflight",
        "executor 2": "tasks_inflight",
    }.items():
        assert f"\n{number}" in machine.scrape(name), name
    if watched:
        found = json.loads(machine.get("prometheus", "/api/v1/targets"))["data"]["activeTargets"]
        rules = json.loads(machine.get("prometheus", "/api/v1/rules"))["data"]["groups"]
        assert [one["health"] for one in found] == ["up"] * 6
        assert {rule["name"] for group in rules for rule in group["rules"]} == {alert["alert"] for alert in alerts()}

    # Grafana would find a dashboard, and what it asks.
    grafana = machine.folder / "etc/grafana"
    [source] = yaml.safe_load((grafana / "provisioning/datasources/punctual.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((grafana / "provisioning/dashboards/punctual.yml").read_text())["providers"]
    dashboards = [json.loads(file.read_text()) for file in (grafana / "dashboards").glob("*.json")]
    assert source["url"] == f"http://127.0.0.1:{PORTS['prometheus']}"
    assert provider["options"]["path"] == "/etc/grafana/dashboards"
    assert [one["title"] for one in dashboards] == ["Job Scheduler Overview"]
    [choice] = [one for one in dashboards[0]["templating"]["list"] if one["type"] == "datasource"]
    assert choice["query"] == source["type"] and source["isDefault"]

    # What others stood in for is what only a machine of one's own can do.
    assert {line.split()[0] for line in machine.called} == set(ADMINISTRATORS)
