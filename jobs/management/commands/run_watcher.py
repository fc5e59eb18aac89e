from django.conf import settings
from django.core.management.base import BaseCommand

from jobs.alerts.gauges import IncidentGauges
from jobs.alerts.processes import make_courier, make_watcher
from scheduler_project.checks import PUNCTUAL
from scheduler_project.loop import in_a_thread, run_until_stopped, stop_on_signals
from scheduler_project.metrics import add_port_argument, exported
from scheduler_project.presence import announced


class Command(BaseCommand):
    help = "Notices what should have happened and did not, and tells whoever asked to be told. Run as many as you like."
    requires_system_checks = [PUNCTUAL]

    def add_arguments(self, parser):
        add_port_argument(parser)
        parser.add_argument("--once", action="store_true", help="one look, then end")

    def handle(self, *, once, metrics_port, **options):
        watcher, courier = make_watcher(), make_courier()
        try:
            if once:
                watcher.tick()
                self.stdout.write(f"Tried to deliver {courier.tick()} notice(s).")
            else:
                stop = stop_on_signals()
                with exported(metrics_port, looked=[IncidentGauges()]), announced("watcher") as seen:
                    delivering = in_a_thread(courier, interval=settings.COURIER_INTERVAL, stop=stop, beats=False)
                    run_until_stopped(
                        watcher, interval=settings.WATCH_INTERVAL, stop=stop, after_round=seen.round_ended
                    )
                    delivering.join()
        finally:
            courier.stop()
