"""Start a task of your own: its handler, and a test that passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser

from execution.new_task import Refused, write_task
from execution.registry import registry


class Command(BaseCommand):
    help = "Write a task of your own and its test, to be changed to what you need. Overwrites nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the task, such as send_report")
        parser.add_argument("--app", default="my_tasks", help="that it goes into; made if there is none (my_tasks)")

    def handle(self, *, name: str, app: str, **options: Any) -> None:
        try:
            written = write_task(name, app, folder=Path.cwd(), registry=registry)
        except Refused as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Written: {written.tasks.relative_to(Path.cwd())}, {written.test.relative_to(Path.cwd())}")
        self.stdout.write(f"Try it:  python manage.py test {app}.{written.test.stem}")
        if not apps.is_installed(app):
            self.stdout.write(f"Run it:  put {app} into EXTRA_APPS, as in: EXTRA_APPS={app} make run")
