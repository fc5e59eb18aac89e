"""A new installation in one process: `python -m tests.browser.launch PORT`. What `make run` does in three."""

from __future__ import annotations

import sys

import django
from django.core.management import call_command

if __name__ == "__main__":
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("seed_demo")
    call_command("run_all", port=int(sys.argv[1]))
