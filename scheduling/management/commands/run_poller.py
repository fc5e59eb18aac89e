from django.conf import settings
from django.core.management.base import BaseCommand

from scheduler_project.checks import PUNCTUAL
from scheduler_project.loop import run_until_stopped, stop_on_signals
from scheduler_project.metrics import add_port_argument, exported
from scheduler_project.presence import announced
from scheduling.gauges import IndexGauges
from scheduling.processes import make_poller


class Command(BaseCommand):
    help = "Turns due jobs into executions. Run as many as you like."
    requires_system_checks = [PUNCTUAL]

    def add_arguments(self, parser):
        add_port_argument(parser)
        parser.add_argument("--once", action="store_true", help="one round, then end")

    def handle(self, *, metrics_port, once, **options):
        poller = make_poller()
        try:
            if once:
                self.stdout.write(f"Dispatched {poller.tick()} job(s).")
            else:
                with exported(metrics_port, looked=[IndexGauges(poller.index)]), announced("poller") as seen:
                    run_until_stopped(
                        poller,
                        interval=settings.POLL_INTERVAL,
                        stop=stop_on_signals(),
                        after_round=seen.round_ended,
                        rest=poller.rest,
                    )
        finally:
            poller.stop()
