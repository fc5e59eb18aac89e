"""Stands in for a machine that we may not change: programs of its administrator, as a script would call them.

    python tests/whole/machine.py NAME ARGUMENT …

`systemctl` does what the unit files say, without the confinement: it starts what `ExecStart` names, in the folder and
with the environment they give it, and it knows Prometheus. Everything else is noted, and nothing else is done. What is
different on the machine of the tests (folders, ports) is told by a file that STAND_IN names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

PROMETHEUS = "prometheus"


def main(name: str, *arguments: str) -> int:
    machine = json.loads(Path(os.environ["STAND_IN"]).read_text())
    folder = Path(machine["folder"])
    with (folder / "called").open("a") as called:
        called.write(shlex.join([name, *arguments]) + "\n")
    if name != "systemctl":
        return 0
    act, *units = [argument for argument in arguments if not argument.startswith("--")]
    for unit in units if act in ("enable", "restart") else ():
        if (command := _command(unit, folder, machine["differs"])) is not None:
            _start(unit, folder, *command)
    return 0


def _command(unit: str, folder: Path, differs: dict[str, str]) -> tuple[list[str], str, dict[str, str]] | None:
    """What to start, where, and with which environment."""
    if unit == PROMETHEUS and shutil.which(PROMETHEUS):
        config = folder / "etc/prometheus/prometheus.yml"
        config.write_text(here(config.read_text(), differs))
        listen = here("127.0.0.1:9090", differs)
        command = [PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb"]
        return [*command, f"--web.listen-address={listen}"], str(folder), {"PATH": os.environ["PATH"]}
    if not unit.startswith("punctual"):
        return None
    said = _said(unit, folder / "etc/systemd/system", differs)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    for pairs in said["Environment"]:
        env |= dict(pair.split("=", 1) for pair in shlex.split(pairs))
    for file in said["EnvironmentFile"]:
        env |= dict(line.split("=", 1) for line in Path(file).read_text().splitlines() if "=" in line)
    [command], [where] = said["ExecStart"], said["WorkingDirectory"]
    return shlex.split(command), where, env


def _said(unit: str, units: Path, differs: dict[str, str]) -> dict[str, list[str]]:
    """All that a unit and what it has in common with others say of each thing."""
    template, at, instance = unit.partition("@")
    prefix = template.partition("-")[0]
    files = [*units.glob(f"{prefix}-.service.d/*.conf"), units / f"{template}{at}.service"]
    said: dict[str, list[str]] = defaultdict(list)
    for file in files:
        text = file.read_text().replace("\\\n", " ").replace("%i", instance)
        for line in here(text, differs).splitlines():
            if "=" in line and not line.startswith("#"):
                name, value = line.split("=", 1)
                said[name].append(value)
    return said


def here(text: str, differs: dict[str, str]) -> str:
    """The same for this machine. In one go: a port of ours may look like one of theirs."""
    return re.sub("|".join(map(re.escape, differs)), lambda found: differs[found[0]], text)


def _start(unit: str, folder: Path, command: list[str], where: str, env: dict[str, str]) -> None:
    with (folder / f"{unit}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    with (folder / "pids").open("a") as pids:
        pids.write(f"{process.pid} {unit}\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
