from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts import demo
from scheduler_project.everything import Everything
from scheduler_project.loop import stop_on_signals
from scheduler_project.metrics import add_port_argument
from scheduler_project.web import PortTaken, WebServer


class Command(BaseCommand):
    help = "Runs web server, poller, executor and recoverer together, until Ctrl-C."

    def add_arguments(self, parser):
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        add_port_argument(parser)

    def handle(self, *, host, port, metrics_port, **options):
        if why := demo.danger(host):
            raise CommandError(why)
        stop = stop_on_signals()
        web = WebServer(host, port, threads=settings.WEB_THREADS, workers=settings.WEB_WORKERS)
        everything = Everything(web, stop, metrics_port=metrics_port)
        try:
            ready = everything.start()
        except PortTaken as error:
            raise CommandError(str(error)) from None
        if ready:
            self.stdout.write(f"Ready: {everything.web.url}")
            self.stdout.flush()
        served = ready and everything.wait()
        asked_to_stop = stop.is_set()  # `end` sets it too
        everything.end()
        if not served and not asked_to_stop:
            raise CommandError(
                "The web server or a daemon's loop ended unexpectedly. The last log lines have the reason."
            )
        self.stdout.write("Stopped.")
