"""The web server's own process: `python -m scheduler_project.serve HOST PORT THREADS [WORKERS]`.

It ends with whoever started it: standard input is a pipe whose other end nobody writes to, and
which the system closes when that process is gone, however it went.

Several workers count in files that they share, so that whichever is asked for metrics tells those of all.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from threading import Thread

from granian import Granian

GRACE = 10.0  # seconds for requests to be finished, and for a server that does not heed its signal


def end_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin: the server forks, and a fork inherits locks that are held
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def main(host: str, port: str, threads: str, workers: str = "1") -> None:
    Thread(target=end_with_parent, daemon=True).start()
    if int(workers) == 1:
        serve(host, port, threads, workers)
        return
    with tempfile.TemporaryDirectory(prefix="punctual-metrics-") as counted:  # anew: counters begin at zero
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = counted  # read where the application is loaded, by each worker
        serve(host, port, threads, workers)


def serve(host: str, port: str, threads: str, workers: str) -> None:
    Granian(
        "scheduler_project.wsgi:application",
        address=host,
        port=int(port),
        interface="wsgi",
        workers=int(workers),
        blocking_threads=int(threads),
        websockets=False,
        log_level="error",
        respawn_failed_workers=True,
        workers_kill_timeout=int(GRACE / 2),
    ).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
