import sys
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.quota import QuotaExceeded
from accounts.tenancy import UnknownTenant, tenant_called
from jobs.as_code.applying import carry_out
from jobs.as_code.files import InvalidFile, Wanted, exportable, read, write
from jobs.as_code.planning import plan
from jobs.as_code.showing import shown
from jobs.models import Job
from jobs.states import ChangedMeanwhile

CHANGES = 2  # exit status of a plan that has any


class Command(BaseCommand):
    help = "Keeps schedules as code: plan shows what a file would change (exit status 2 if anything), apply does it."

    def add_arguments(self, parser):
        parser.add_argument("act", choices=["plan", "apply", "export"])
        parser.add_argument("file", help="YAML; - for standard input or output")
        parser.add_argument("--tenant", help="its id or name; else what the file says, or the only one there is")
        parser.add_argument("--adopt", action="store_true", help="let the file manage jobs that have its names already")
        parser.add_argument("--as", dest="username", help="whom the audit trail names")
        parser.add_argument("--set", dest="named", default="default", help="what an exported file calls itself")

    def handle(self, *, act, file, tenant, adopt, username, named, **options):
        try:
            if act == "export":
                self._export(file, tenant_called(tenant), named)
            else:
                self._plan(read(_text(file)), tenant, adopt, username, apply=act == "apply")
        except (InvalidFile, UnknownTenant, ChangedMeanwhile, QuotaExceeded, OSError) as error:
            raise CommandError(str(error)) from None

    def _plan(self, wanted: Wanted, tenant, adopt, username, *, apply):
        tenant = tenant_called(tenant or wanted.tenant)
        changes = plan(wanted, tenant, adopt=adopt)
        self.stdout.write("\n".join(shown(changes)))
        if apply:
            carry_out(changes, tenant=tenant, actor=_user(username))
            self.stdout.write("Done.")
        elif changes:
            sys.exit(CHANGES)

    def _export(self, file, tenant, named):
        jobs = list(Job.objects.for_tenant(tenant).kept().order_by("name", "pk"))
        wanted = {job.name: job for job in jobs if exportable(job)}
        text = write(named, wanted.values())
        if file == "-":
            self.stdout.write(text)
        else:
            Path(file).write_text(text, encoding="utf-8")
        left_out = len([job for job in jobs if job.status in ("ACTIVE", "PAUSED")]) - len(wanted)
        self.stderr.write(f"{len(wanted)} job(s) exported; {left_out} without a name of their own left out.")


def _text(file):
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")


def _user(username):
    if username is None:
        return None
    try:
        return User.objects.get(username=username)
    except User.DoesNotExist:
        raise CommandError(f"--as {username!r}: nobody is called so.") from None
