"""Whether this machine has room, and the right time."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from jobs.clock import database_now
from scheduler_project.doctor.findings import Finding, error, warning
from scheduler_project.private import is_open_to_others

MEGABYTE = 1024 * 1024
NO_ROOM = 200 * MEGABYTE
LITTLE_ROOM = 1024 * MEGABYTE
SKEW = timedelta(seconds=2)


def disk() -> list[Finding]:
    folder = Path(settings.VAR_DIR)
    return little_room(folder, free=shutil.disk_usage(folder).free, writable=os.access(folder, os.W_OK | os.X_OK))


def little_room(folder: Path, *, free: int, writable: bool) -> list[Finding]:
    if not writable:
        return [
            error(
                "machine.not_writable",
                f"{folder} cannot be written to: uploads, mails and the keys of an embedded system go there.",
                "Give it to the user that Punctual runs as (chown), or set PUNCTUAL_VAR to another folder.",
            )
        ]
    if free >= LITTLE_ROOM:
        return []
    make = error if free < NO_ROOM else warning
    return [
        make(
            "machine.disk_full",
            f"{free // MEGABYTE:,} MB are left on the disk of {folder}.",
            "Make room, or set PUNCTUAL_VAR to a larger disk; HISTORY_KEPT and UPLOAD_KEPT bound what is kept.",
        )
    ]


def files() -> list[Finding]:
    names = [settings.VAR_DIR / name for name in ("secret_key", "secrets_key", "jwt_signing_key")]
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        names.append(Path(database["NAME"]))
    return open_to_others([path for path in names if is_open_to_others(path)])


def open_to_others(paths: list[Path]) -> list[Finding]:
    if not paths:
        return []
    named = " ".join(map(str, paths))
    return [
        error(
            "machine.files_open_to_others",
            f"All users of this machine can read {named}. These files contain payloads and keys.",
            f"chmod go= {named}",
        )
    ]


def clock() -> list[Finding]:
    before = timezone.now()
    told = database_now()
    return skew(told - before - (timezone.now() - before) / 2)


def skew(ahead: timedelta) -> list[Finding]:
    """`ahead` is how much the database's clock is ahead of this machine's."""
    if abs(ahead) < SKEW:
        return []
    return [
        warning(
            "machine.clock_differs",
            f"This machine's clock and the database's differ by {abs(ahead.total_seconds()):.1f} s. Nothing "
            "fires early for it, all go by the database's; but log lines and tokens go by this one.",
            "Have NTP run on both: `timedatectl set-ntp true`.",
        )
    ]
