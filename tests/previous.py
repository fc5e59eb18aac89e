"""The previous release, out of the repository's own history: what still runs while this one is rolled out.

Which one that is says pyproject.toml, and nothing else does. Rolling out a release moves it on.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.missing import not_tried

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Release:
    commit: str
    migrations: dict[str, str]  # by app: the last one it has


def previous() -> Release:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["punctual"]["previous-release"]
    return Release(told["commit"], told["migrations"])


def unpack(release: Release, folder: Path) -> Path:
    """Put its files there. A clone that does not reach so far back, or an archive, cannot: that is told."""
    found = subprocess.run(["git", "archive", release.commit], cwd=ROOT, capture_output=True)
    if found.returncode:
        not_tried(
            f"The previous release, {release.commit[:7]}, is not in this clone: {found.stderr.decode().strip()}. "
            "Fetch the whole history: git fetch --unshallow",
            installable=False,
        )
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder
