import time
from argparse import ArgumentTypeError
from collections import Counter
from dataclasses import replace

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from jobs.pruning import Kept, Pruner, kept_by_settings
from scheduler_project.durations import parse_duration

NAP = 0.05  # seconds between two steps: others get their turn


def length(text):
    try:
        # Without a unit it is as likely meant in days, and what is pruned does not come back.
        if text[-1:].isalpha() and (asked := parse_duration(text)):
            return asked
    except ValueError:
        pass
    raise ArgumentTypeError(f"{text!r} is not a length of time with a unit, such as 90d, 12h or 30m.")


class Command(BaseCommand):
    help = (
        "Lets go of old history in small steps. Dead letters and what is not over stay. Recoverers do it by themselves."
    )

    def add_arguments(self, parser):
        parser.add_argument("--history", type=length, metavar="90d", help="keep executions so long; else HISTORY_KEPT")
        parser.add_argument("--runs", type=int, metavar="N", help="keep a recurring job's latest N; else HISTORY_RUNS")
        parser.add_argument("--words", type=length, metavar="7d", help="keep log lines so long; else WORDS_KEPT")
        parser.add_argument("--audit", type=length, metavar="365d", help="keep audit events so long; else AUDIT_KEPT")
        parser.add_argument("--jobs", type=length, metavar="30d", help="keep ended jobs so long; else JOBS_KEPT")
        parser.add_argument("--nap", type=float, default=NAP, help="seconds between two steps")

    def handle(self, *, history, runs, words, audit, jobs, nap, **options):
        if runs is not None and runs < 1:
            raise CommandError(f"--runs {runs}: give at least 1, so that each job has its latest run.")
        asked = {"history": history, "runs": runs, "words": words, "audit": audit, "jobs": jobs}
        by_settings = kept_by_settings()
        if not settings.HISTORY_KEPT_IS_CHOSEN:  # the default is for recoverers: here somebody says what should go
            by_settings = replace(by_settings, history=None)
        kept: Kept = replace(by_settings, **{name: value for name, value in asked.items() if value is not None})
        if kept.for_ever:
            raise CommandError("No retention is set. Give one, such as --history 90d, or set HISTORY_KEPT.")
        gone = Counter()
        for step in Pruner(kept, batch=settings.PRUNE_BATCH).all_steps():
            gone[step.what] += step.gone
            time.sleep(nap)
        told = ", ".join(f"{count:,} {what}" for what, count in gone.items() if count)
        self.stdout.write(f"Pruned: {told or 'nothing'}.")
