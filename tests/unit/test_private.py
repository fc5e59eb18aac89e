"""Other users of the machine read none of what Punctual writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.mail import EmailMessage

from execution.mailbox import FolderBackend
from scheduler_project.doctor import machine
from scheduler_project.private import is_open_to_others, private_file, private_folder
from scheduler_project.pulse import Pulse
from tests.deploying import ROOT

WRITE = """
import os
os.umask(0)  # the most careless of accounts
import django
django.setup()
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.mail import EmailMessage
from django.core.management import call_command
from django.db import connection
call_command("migrate", verbosity=0)
default_storage.save("tenant/image", ContentFile(b"x"))
EmailMessage("subject", "body", to=["a@example.com"]).send()
connection.cursor().execute("CREATE TABLE more (x)")  # the connection is open: so is the WAL
for folder, _, files in os.walk(os.environ["PUNCTUAL_VAR"]):
    for path in [folder, *(os.path.join(folder, name) for name in files)]:
        print(oct(os.stat(path).st_mode & 0o777), os.path.relpath(path, os.environ["PUNCTUAL_VAR"]))
"""


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def begin(var: Path, **env: str) -> dict[str, int]:
    """What a new installation writes, with its modes."""
    inherited = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "scheduler_project.settings"}
    done = subprocess.run(
        [sys.executable, "-c", WRITE],
        cwd=ROOT,
        env=inherited | {"PUNCTUAL_VAR": str(var), "LOG_LEVEL": "ERROR"} | env,
        capture_output=True,
        text=True,
        timeout=300,  # it migrates, which takes a busy machine long
    )
    assert done.returncode == 0, done.stderr
    return {path: int(mode, 8) for mode, path in (line.split(" ", 1) for line in done.stdout.splitlines())}


def test_nothing_that_is_written_can_be_read_by_others_whatever_the_umask(tmp_path) -> None:
    written = begin(tmp_path / "var")
    kept = {path: mode for path, mode in written.items() if not path.startswith("static")}  # for browsers anyway

    assert {"punctual.sqlite3", "punctual.sqlite3-wal", "secret_key", "uploads/tenant/image", "mail"} <= kept.keys()
    assert [path for path, mode in kept.items() if mode & 0o077] == []


def test_a_database_elsewhere_is_closed_too(tmp_path) -> None:
    begin(tmp_path / "var", DATABASE_URL=f"sqlite:///{tmp_path}/elsewhere.sqlite3")

    assert mode(tmp_path / "elsewhere.sqlite3") == 0o600


def test_what_an_earlier_release_left_open_is_closed_and_a_groups_access_stays(tmp_path) -> None:
    folder, file = tmp_path / "var", tmp_path / "var/punctual.sqlite3"
    folder.mkdir()
    file.write_text("kept")
    folder.chmod(0o775)
    file.chmod(0o664)

    private_folder(folder)
    private_file(file)

    assert (mode(folder), mode(file), file.read_text()) == (0o770, 0o660, "kept")


def test_a_mail_and_a_pulse_are_closed(tmp_path, settings) -> None:
    settings.MAIL_FOLDER, settings.PULSE_FILE = tmp_path / "mail", str(tmp_path / "pulse")

    FolderBackend().send_messages([EmailMessage("subject", "body", to=["a@example.com"])])
    Pulse(settings.PULSE_FILE).beat()

    [mail] = settings.MAIL_FOLDER.iterdir()
    assert (mode(settings.MAIL_FOLDER), mode(mail), mode(tmp_path / "pulse")) == (0o700, 0o600, 0o600)


@pytest.mark.parametrize(
    ("above", "own", "opened"), [(0o755, 0o644, True), (0o700, 0o644, False), (0o755, 0o640, False)]
)
def test_a_file_is_open_to_others_when_they_can_reach_and_read_it(above, own, opened) -> None:
    with TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        file = Path(folder) / "secret_key"
        file.touch()
        file.chmod(own)
        Path(folder).chmod(above)

        assert is_open_to_others(file) is opened


def test_the_doctor_finds_a_file_that_every_user_can_read() -> None:
    [finding] = machine.open_to_others([Path("/srv/punctual.sqlite3")])

    assert finding.code == "machine.files_open_to_others" and finding.remedy == "chmod go= /srv/punctual.sqlite3"
    assert machine.open_to_others([]) == []
