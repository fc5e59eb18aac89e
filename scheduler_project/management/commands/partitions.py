from datetime import timedelta

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from jobs.clock import database_now
from jobs.partitions import LEAST_KEPT, CannotConvert, convert, drop_before, make_ahead, partitioned, partitions
from scheduler_project.management.commands.prune import length

AHEAD = 7  # periods
BUSY = "Somebody holds jobs_execution for long, and was not made to wait: {error}. Try again at another moment."


class Command(BaseCommand):
    help = "Executions in partitions by time, on PostgreSQL: dropped whole, where deleting rows is too slow."

    def add_arguments(self, parser):
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("show", help="which partitions there are, and how large they are")
        making = verbs.add_parser("convert", help="make the table a partitioned one, while it is in use")
        tending = verbs.add_parser("tend", help="make partitions for the times to come; with --keep, drop old ones")
        tending.add_argument("--keep", type=length, metavar="30d", help="drop those whose executions are all older")
        for verb in (making, tending):
            verb.add_argument("--every", type=length, default=timedelta(days=1), metavar="1d", help="the time of each")
            verb.add_argument("--ahead", type=int, default=AHEAD, metavar="N", help=f"how many (default: {AHEAD})")

    def handle(self, *, verb, **options):
        if verb != "convert" and not partitioned():
            raise CommandError("Executions are not in partitions. `partitions convert` makes it so, on PostgreSQL.")
        if options.get("ahead", 1) < 1:
            raise CommandError("--ahead: give at least 1.")
        if (keep := options.get("keep")) is not None and keep < LEAST_KEPT:
            raise CommandError(
                f"--keep: give at least {LEAST_KEPT.days}d. Processes still write to the partitions of the last days "
                "by their names, and would lose what they run."
            )
        try:
            getattr(self, verb)(**options)
        except CannotConvert as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(BUSY.format(error=str(error).strip())) from error

    def show(self, **options):
        for one in partitions():
            start = f"{one.start:%Y-%m-%d %H:%M}" if one.start else "the beginning"
            times = "what no other is for" if one.is_default else f"{start} to {one.end:%Y-%m-%d %H:%M}"
            self.stdout.write(f"{one.name}: {times}, some {one.rows:,} executions, {one.bytes / 1e6:,.1f} MB")

    def convert(self, *, every, ahead, **options):
        self.stdout.write(f"Made: {', '.join(convert(now=database_now(), length=every, ahead=ahead))}.")

    def tend(self, *, every, ahead, keep, **options):
        made = make_ahead(now=database_now(), length=every, ahead=ahead)
        self.stdout.write(f"Made: {', '.join(made.names) or 'none, there are enough'}.")
        for name in made.passed_over:
            self.stdout.write(f"Not made: {name}. Executions of that time are in the default partition already.")
        if keep is None:
            return
        for dropped in drop_before(database_now() - keep):
            self.stdout.write(
                f"Left: {dropped.name}, {dropped.why_not}." if dropped.why_not else f"Dropped: {dropped.name}."
            )
