"""Files and folders that other users of the machine cannot read: payloads, mails and keys are in them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
OTHERS = 0o007


def private_folder(path: Path) -> Path:
    """Make the folder if it is missing, and close it to other users if it is ours. A group's access may be meant."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=FOLDER, exist_ok=True)
    _close(path)
    return path


def private_file(path: Path) -> None:
    """Create the file empty if it is missing, and close it to other users if it is ours.

    SQLite gives the files beside its own (-wal, -shm, -journal) the mode of that.
    """
    with suppress(OSError):  # who opens it next tells better why it cannot be written
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE))
        _close(path)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE), "wb") as file:
        file.write(content)


def is_open_to_others(path: Path) -> bool:
    """Whether any user of the machine can read the file: by its own mode, and those of all folders above."""
    try:
        reached = all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)
        return reached and bool(path.stat().st_mode & 0o004)
    except OSError:
        return False


def _close(path: Path) -> None:
    state = path.stat()
    if state.st_uid == os.geteuid() and state.st_mode & OTHERS:
        with suppress(OSError):  # on a file system that is mounted read-only, or has no modes
            path.chmod(state.st_mode & 0o7777 & ~OTHERS)
