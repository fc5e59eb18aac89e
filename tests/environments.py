"""Virtual environments with exactly what somebody else would have installed, and nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.missing import not_tried

PATIENCE = 900  # seconds: for all of requirements.txt, on a slow line and a machine with much else to do


def made(folder: Path, *arguments: str) -> Path:
    """The programs of a new environment in which `pip install …` was run. Not tried where there is no package index."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
    installed(folder / "bin", *arguments)
    return folder / "bin"


def installed(bin_: Path, *arguments: str) -> None:
    """Install more into it."""
    command = [bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env=alone(), capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        not_tried(f"pip install {' '.join(map(str, arguments))} failed: {done.stderr.strip()[-500:]}")


def alone(**more: str) -> dict[str, str]:
    """Our environment without the paths of our packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")} | more
