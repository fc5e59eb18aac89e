import json
import sys
import time
from dataclasses import asdict

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder

from accounts.tenancy import UnknownTenant, tenant_called
from scheduling.load import MOST_HOURS
from scheduling.load.drawing import EIGHTHS, HEIGHTS, drawn
from scheduling.load.reading import load_report

SAY_AFTER = 1.0  # seconds: whoever waits longer wants to know for what
SAY_EVERY = 0.2


class Command(BaseCommand):
    help = "Shows how many executions each coming hour starts, the worst minutes, and what would spread them."

    def add_arguments(self, parser):
        parser.add_argument("--hours", type=int, default=24, help=f"how far to look ahead, 1 to {MOST_HOURS}")
        parser.add_argument("--tenant", help="of this tenant only: its id or its name")
        parser.add_argument("--json", action="store_true", dest="as_json", help="for programs")

    def handle(self, *, hours, tenant, as_json, **options):
        if not 1 <= hours <= MOST_HOURS:
            raise CommandError(f"--hours {hours}: allowed are 1 to {MOST_HOURS}.")
        progress = Progress(self.stderr if sys.stderr.isatty() else None)
        report = load_report(hours, tenant=_tenant(tenant) if tenant else None, progress=progress)
        progress.end()
        if as_json:
            self.stdout.write(json.dumps(asdict(report), cls=DjangoJSONEncoder, indent=2))
        else:
            self.stdout.write("\n".join(drawn(report, plain=not _can_draw(self.stdout))))


class Progress:
    """One line that overwrites itself, once it has taken a while."""

    def __init__(self, out):
        self.out = out
        self._say_at = time.monotonic() + SAY_AFTER
        self._said = False

    def __call__(self, doing, done, total):
        if self.out is not None and time.monotonic() >= self._say_at:
            self._say_at = time.monotonic() + SAY_EVERY
            self._said = True
            self.out.write(f"\r\033[K{doing} {done:,} of {total:,}", ending="")
            self.out.flush()

    def end(self):
        if self._said:
            self.out.write("\r\033[K", ending="")


def _tenant(wanted):
    try:
        return tenant_called(wanted)
    except UnknownTenant as error:
        raise CommandError(str(error)) from None


def _can_draw(out):
    try:
        (EIGHTHS + HEIGHTS).encode(getattr(out, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True
