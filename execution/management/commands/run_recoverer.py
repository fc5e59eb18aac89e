from django.conf import settings
from django.core.management.base import BaseCommand

from execution.processes import make_gauges, make_recoverer
from scheduler_project.checks import PUNCTUAL
from scheduler_project.loop import run_until_stopped, stop_on_signals
from scheduler_project.metrics import add_port_argument, exported
from scheduler_project.presence import announced
from scheduler_project.tracing import traced


class Command(BaseCommand):
    help = "Re-drives executions that stopped moving. Run as many as you like."
    requires_system_checks = [PUNCTUAL]

    def add_arguments(self, parser):
        add_port_argument(parser)
        parser.add_argument("--once", action="store_true", help="one round, then end")

    def handle(self, *, once, metrics_port, **options):
        recoverer = make_recoverer()
        if once:
            self.stdout.write(f"Recovered {recoverer.tick()} execution(s).")
        else:
            with (
                exported(metrics_port, looked=[make_gauges()]),
                announced("recoverer") as seen,
                traced("recoverer"),
            ):
                run_until_stopped(
                    recoverer,
                    interval=settings.RECOVER_INTERVAL,
                    stop=stop_on_signals(),
                    after_round=seen.round_ended,
                )
