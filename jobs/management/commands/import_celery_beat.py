from django.core.management.base import BaseCommand, CommandError

from accounts.tenancy import UnknownTenant, tenant_called
from jobs.celery_beat.importing import carry_out, plan
from jobs.celery_beat.reading import NoCeleryBeat, connected, read


class Command(BaseCommand):
    help = "Takes over django-celery-beat's schedules. Shows what it would create; creates it only with --apply."

    def add_arguments(self, parser):
        parser.add_argument("--database-url", help="where its tables are; without one, in our own database")
        parser.add_argument("--tenant", help="whose the jobs shall be: an id or a name")
        parser.add_argument(
            "--map", action="append", default=[], metavar="OLD=NEW", help="a task's name there and here; repeatable"
        )
        parser.add_argument("--apply", action="store_true", help="create them")

    def handle(self, *, database_url, tenant, apply, **options):
        names = dict(_pair(text) for text in options["map"])
        try:
            owner = tenant_called(tenant)
            with connected(database_url) as database:
                found = read(database)
        except (NoCeleryBeat, UnknownTenant) as error:
            raise CommandError(str(error)) from None
        made = plan(found, owner, names)
        self._tell(made)
        if apply:
            self.stdout.write(f"{carry_out(made, tenant=owner, actor=None)} job(s) created.")
            if made.taken:
                self.stdout.write("Stop Celery's beat now: until then both run them.")
        else:
            self.stdout.write("Nothing was created. Add --apply to do it.")

    def _tell(self, made):
        for one in made.taken:
            state = ", paused" if one.paused else ""
            self.stdout.write(f"+ {one.job.name}: {one.job.task}, {one.job.schedule}{state}")
            for note in one.notes:
                self.stdout.write(f"    {note}")
        for name in made.there:
            self.stdout.write(f"= {name}: taken over before")
        for name, why in made.left:
            self.stdout.write(f"! {name}: left out, {why}")
        counts = len(made.taken), len(made.there), len(made.left)
        self.stdout.write("{} to create, {} there already, {} left out.".format(*counts))


def _pair(text):
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise CommandError(f"--map {text!r}: write it as old=new, such as shop.tasks.remind=remind.")
    return old, new
