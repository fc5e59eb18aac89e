"""The admin's code is the web's: whoever has no pages to show does not load it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

OF_THE_ADMIN = ("unfold.admin", "unfold.widgets", "jobs.admin", "accounts.admin")
LOADED = f"""
import sys, django
django.setup()
{{then}}
print(",".join(name for name in {OF_THE_ADMIN} if name in sys.modules))
"""


def loaded_after(then: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings", "PUNCTUAL_VAR": folder}
        command = [sys.executable, "-c", LOADED.format(then=then)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_daemon_loads_nothing_of_the_admin() -> None:
    then = "from execution.processes import make_executor; from scheduling.processes import make_poller"

    assert loaded_after(then) == ""


def test_the_web_has_loaded_the_admin_before_its_first_request() -> None:
    assert "jobs.admin" in loaded_after("import scheduler_project.wsgi").split(",")
