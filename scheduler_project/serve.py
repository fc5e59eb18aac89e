"""The web server: `python -m scheduler_project.serve [HOST [PORT [THREADS [WORKERS]]]] [--detached]`.

Unless it is detached it ends with the process that started it: standard input is a pipe whose other end nobody writes
to, and which the system closes when that process is gone, however it went.

Several workers count in files that they share, so that whichever is asked for metrics tells those of all.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
from threading import Thread

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from granian import Granian
from granian.http import HTTP1Settings

HEADER_PATIENCE = 10_000  # milliseconds for a request's headers, and that a kept connection may be silent
MAX_HEADER_BYTES = 64 * 1024  # of a request, all headers together; as much of an answer is held for its reader
OTHER_FILES = 256  # open files of a worker that are not connections of clients
GRACE = 10.0  # seconds for requests to be finished, and for a server that does not heed its signal
DETACHED_GRACE = 20.0  # … under a process manager that waits longer


def end_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin: the server forks, and a fork inherits locks that are held
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def main() -> None:
    options = parser().parse_args()
    if not options.detached:
        Thread(target=end_with_parent, daemon=True).start()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_project.settings")
    if options.threads is not None:
        os.environ["WEB_THREADS"] = str(options.threads)  # read where the application is loaded, by each worker
    workers = options.workers or settings.WEB_WORKERS
    grace = int(DETACHED_GRACE if options.detached else GRACE / 2)
    allow_open_files(settings.WEB_CONNECTIONS + OTHER_FILES)
    if workers == 1 or os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        serve(options.host, options.port, workers, grace)
        return
    with tempfile.TemporaryDirectory(prefix="punctual-metrics-") as counted:  # anew: counters begin at zero
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = counted
        serve(options.host, options.port, workers, grace)


def allow_open_files(wanted: int) -> None:
    """As many as the system lets us: each connection is one, and often only 1,024 are allowed unless asked for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def serve(host: str, port: int, workers: int, grace: int) -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections = settings.WEB_CONNECTIONS
    if files != resource.RLIM_INFINITY:
        connections = max(1, min(connections, files - OTHER_FILES))
    Granian(
        "scheduler_project.asgi:application",
        address=host,
        port=port,
        interface="asginl",
        http="1",  # where HTTP/2 is looked for too, a connection that sends nothing is held for ever
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_PATIENCE, max_buffer_size=MAX_HEADER_BYTES),
        workers=workers,
        backpressure=connections,
        websockets=False,
        log_level="error",
        respawn_failed_workers=True,
        workers_kill_timeout=grace,
    ).serve()


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m scheduler_project.serve", description="Runs the web server.")
    options.add_argument("host", nargs="?", default="127.0.0.1")
    options.add_argument("port", nargs="?", type=int, default=8000)
    options.add_argument("threads", nargs="?", type=int, help="requests answered at once (WEB_THREADS)")
    options.add_argument("workers", nargs="?", type=int, help="processes that answer requests (WEB_WORKERS)")
    options.add_argument("--detached", action="store_true", help="do not end with the process that started it")
    return options


if __name__ == "__main__":
    try:
        main()
    except ImproperlyConfigured as error:  # as in manage.py
        sys.exit(str(error))
