from datetime import timedelta

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from execution.metrics import InFlight
from execution.processes import load_of, make_executor
from execution.registry import UnknownTask, registry
from scheduler_project.checks import PUNCTUAL
from scheduler_project.loop import run_until_stopped, stop_on_signals
from scheduler_project.metrics import add_port_argument, exported
from scheduler_project.presence import announced
from scheduler_project.tracing import traced

AT_ONCE = timedelta(milliseconds=1)  # a failed round is tried again soon; an empty one has waited already


class Command(BaseCommand):
    help = "Runs executions. Run as many as you like, on as many machines."
    requires_system_checks = [PUNCTUAL]

    def add_arguments(self, parser):
        parser.add_argument("--tasks", default="", help="comma-separated: serve only these")
        parser.add_argument("--concurrency", type=int, help="how many at once (EXECUTOR_THREADS)")
        add_port_argument(parser)
        parser.add_argument("--once", action="store_true", help="run what is waiting, then end")

    def handle(self, *, tasks, concurrency, metrics_port, once, **options):
        if concurrency is not None and concurrency < 1:
            raise CommandError(f"--concurrency {concurrency} would run nothing. Give at least 1.")
        wanted = [name.strip() for name in tasks.split(",") if name.strip()]
        try:
            executor = make_executor(wanted, concurrency)
        except UnknownTask as error:
            raise CommandError(str(error)) from None
        with traced("executor"):  # once its children's nursery is made, and until their last spans are here
            executor.start()
            try:
                if once:
                    self.stdout.write(f"Ran {executor.run_waiting()} execution(s).")
                else:
                    self._serve(executor, wanted, metrics_port)
            finally:
                executor.stop(settings.STOP_GRACE)

    def _serve(self, executor, wanted, metrics_port):
        serves = wanted or registry.names()
        in_flight = InFlight(wanted or registry.local_names(), executor.held_tasks)
        with (
            exported(metrics_port, counted=[in_flight]),
            announced("executor", load=lambda: load_of(executor), room=executor.threads, tasks=serves) as seen,
        ):
            run_until_stopped(executor, interval=AT_ONCE, stop=stop_on_signals(), after_round=seen.round_ended)
