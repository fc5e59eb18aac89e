"""Web server, poller, executor, recoverer and watcher under one command: for trying it, and for one small machine."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from django.conf import settings

from execution.metrics import InFlight
from execution.processes import load_of, make_executor, make_gauges, make_recoverer
from execution.registry import registry
from jobs.alerts.gauges import IncidentGauges
from jobs.alerts.processes import make_courier, make_watcher
from scheduler_project.loop import Daemon, in_a_thread
from scheduler_project.metrics import Looked, exported
from scheduler_project.presence import Announcer
from scheduler_project.tracing import traced
from scheduler_project.web import WebServer
from scheduler_project.whole_metrics import told_at
from scheduling.gauges import IndexGauges
from scheduling.processes import make_poller

AT_ONCE = timedelta(milliseconds=1)  # the executor has waited for work itself
LOOK = 0.5  # seconds between looks at the web server


class Everything:
    def __init__(self, web: WebServer, stop: Event, *, metrics_port: int = 0) -> None:
        self.web = web
        self.stop = stop
        self.metrics_port = metrics_port
        self._watched = ExitStack()
        self._threads: list[Thread] = []
        self._announcers: list[Announcer] = []

    def start(self) -> bool:
        """Start all of it; whether the web server answers."""
        socket = self._socket()
        self.web.start(METRICS_SOCKET=str(socket or ""))
        self._executor = make_executor()
        self._poller = make_poller()
        self._courier = make_courier()
        self._export(socket)
        self._watched.enter_context(traced("all"))
        self._executor.start()
        executor = self._executor
        load, tasks = (lambda: load_of(executor)), registry.names()
        seen = Announcer("executor", load=load, room=executor.threads, tasks=tasks)
        self._run(self._poller, settings.POLL_INTERVAL, Announcer("poller"), rest=self._poller.rest)
        self._run(executor, AT_ONCE, seen)
        self._run(make_recoverer(), settings.RECOVER_INTERVAL, Announcer("recoverer"))
        self._run(make_watcher(), settings.WATCH_INTERVAL, Announcer("watcher"))
        self._threads.append(in_a_thread(self._courier, interval=settings.COURIER_INTERVAL, stop=self.stop))
        return self.web.wait_until_ready(self.stop)

    def wait(self) -> bool:
        """Wait to be stopped; False when the web server or one of the loops ended by itself."""
        while not self.stop.wait(LOOK):
            if not self.web.running or not all(thread.is_alive() for thread in self._threads):
                return False
        return True

    def end(self) -> None:
        """Take nothing new, finish what runs, and end."""
        self.stop.set()
        self.web.stop()
        for thread in self._threads:
            thread.join()
        self._poller.stop()
        self._executor.stop(settings.STOP_GRACE)
        self._courier.stop()
        for announcer in self._announcers:
            announcer.stop()
        self._watched.close()

    def _socket(self) -> Path | None:
        """Where the web process finds the others' numbers; nowhere if they have a port, and are scraped at that."""
        if self.metrics_port:
            return None
        return Path(self._watched.enter_context(TemporaryDirectory(prefix="punctual-"))) / "metrics"

    def _export(self, socket: Path | None) -> None:
        """Show the numbers of all but the web: through the web, or at a port of their own."""
        counted = [InFlight(registry.local_names(), self._executor.held_tasks)]
        looked: list[Looked] = [make_gauges(), IndexGauges(self._poller.index), IncidentGauges()]
        self._watched.enter_context(
            told_at(socket, counted=counted, looked=looked)
            if socket
            else exported(self.metrics_port, counted=counted, looked=looked)
        )

    def _run(self, daemon: Daemon, interval: timedelta, announcer: Announcer, **options: Any) -> None:
        options |= {"interval": interval, "stop": self.stop, "after_round": announcer.round_ended}
        self._threads.append(in_a_thread(daemon, **options))
        announcer.start()
        self._announcers.append(announcer)
