"""The web server's own process: `python -m scheduler_project.serve HOST PORT THREADS`.

It ends with whoever started it: standard input is a pipe whose other end nobody writes to, and
which the system closes when that process is gone, however it went.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from threading import Thread

from granian import Granian

GRACE = 10.0  # seconds for requests to be finished, and for a server that does not heed its signal


def end_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin: the server forks, and a fork inherits locks that are held
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def main(host: str, port: str, threads: str) -> None:
    Thread(target=end_with_parent, daemon=True).start()
    Granian(
        "scheduler_project.wsgi:application",
        address=host,
        port=int(port),
        interface="wsgi",
        blocking_threads=int(threads),
        websockets=False,
        log_level="error",
        respawn_failed_workers=True,
        workers_kill_timeout=int(GRACE / 2),
    ).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
