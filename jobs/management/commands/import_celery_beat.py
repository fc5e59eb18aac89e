import json

from django.core.management.base import BaseCommand, CommandError

from accounts.tenancy import UnknownTenant, tenant_called
from jobs.celery_beat import telling
from jobs.celery_beat.importing import UnknownName, carry_out, plan
from jobs.celery_beat.periodic import Choices
from jobs.celery_beat.reading import NoCeleryBeat, connected, read
from jobs.policies import Overlap
from jobs.services import MOST_RETRIES

LEFT_OUT = 2  # exit status
AS_THE_TASK_SAYS = "task"


class Command(BaseCommand):
    help = "Takes over django-celery-beat's schedules. Shows what it would create; creates it only with --apply."

    def add_arguments(self, parser):
        parser.add_argument("--database-url", help="where its tables are; without one, in our own database")
        parser.add_argument("--tenant", help="whose the jobs shall be: an id or a name")
        parser.add_argument(
            "--map", action="append", default=[], metavar="OLD=NEW", help="a task's name there and here; repeatable"
        )
        parser.add_argument(
            "--skip", action="append", default=[], metavar="NAME", help="a periodic task to leave out; repeatable"
        )
        parser.add_argument(
            "--overlap",
            choices=[str(one) for one in Overlap],
            default=str(Overlap.ALLOW),
            help="when the previous execution is still running (default: allow, as Celery does)",
        )
        parser.add_argument(
            "--max-retries", default="0", help="a number, or `task` for what the task says (default: 0, as Celery does)"
        )
        parser.add_argument(
            "--reversed-priorities", action="store_true", help="0 is the highest priority, as with Celery over Redis"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
        doing = parser.add_mutually_exclusive_group()
        doing.add_argument("--apply", action="store_true", help="create them")
        doing.add_argument("--dry-run", action="store_true", help="only show what would be created (the default)")

    def handle(self, *, database_url, tenant, apply, skip, **options):
        choices = Choices(options["overlap"], _retries(options["max_retries"]), options["reversed_priorities"])
        names = _pairs(options["map"])
        try:
            owner = tenant_called(tenant)
            with connected(database_url) as database:
                found = read(database)
            made = plan(found, owner, names=names, skipped=skip, choices=choices)
        except (NoCeleryBeat, UnknownTenant, UnknownName) as error:
            raise CommandError(str(error)) from None
        created = carry_out(made, tenant=owner, actor=None) if apply else None
        if options["json"]:
            self.stdout.write(json.dumps(telling.document(made, created), ensure_ascii=False, indent=2, default=str))
        else:
            self._tell(made, created)
        if made.left:
            raise CommandError(
                f"{len(made.left)} periodic task(s) left out. Fix them, or name each with --skip.", returncode=LEFT_OUT
            )

    def _tell(self, made, created):
        for line in telling.lines(made):
            self.stdout.write(line)
        if created is None:
            self.stdout.write("Nothing was created. Add --apply to do it.")
            return
        self.stdout.write(f"{created} job(s) created.")
        if created:
            self.stdout.write("Stop Celery's beat now: until then both run them.")


def _pairs(texts):
    names = {}
    for text in texts:
        old, equals, new = text.partition("=")
        if not (old and equals and new):
            raise CommandError(f"--map {text!r}: write it as old=new, such as shop.tasks.remind=remind.")
        if names.setdefault(old, new) != new:
            raise CommandError(f"--map {old}: given twice, as {names[old]} and as {new}.")
    return names


def _retries(text):
    if text == AS_THE_TASK_SAYS:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RETRIES)) and int(text) <= MOST_RETRIES):
        raise CommandError(f"--max-retries {text!r}: give a whole number from 0 to {MOST_RETRIES}, or `task`.")
    return int(text)
