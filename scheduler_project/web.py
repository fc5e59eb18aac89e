"""The web server as a child process of `run_all`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from threading import Event

START_PATIENCE = 60.0  # seconds for the first answer
STOP_PATIENCE = 10.0  # seconds for requests to be finished


class PortTaken(Exception):
    """Something else listens where we should."""


class WebServer:
    def __init__(self, host: str, port: int, *, threads: int, workers: int = 1) -> None:
        self.host = host
        self.port = port
        self.threads = threads
        self.workers = workers
        self._process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self, **env: str) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                raise PortTaken(
                    f"Port {self.port} on {self.host} cannot be used: {error.strerror}. "
                    "Choose another with `make run PORT=…` or `run_all --port …`."
                ) from None
        how = [self.host, str(self.port), str(self.threads), str(self.workers)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scheduler_project.serve", *how],
            env=os.environ | env,
            stdin=subprocess.PIPE,  # closed when we are gone: that ends it too
            start_new_session=True,  # Ctrl-C reaches us alone, and we end it in its turn
        )

    def wait_until_ready(self, stop: Event) -> bool:
        """Whether it answers; False when it ended, was stopped, or took too long."""
        deadline = time.monotonic() + START_PATIENCE
        while time.monotonic() < deadline and self.running and not stop.is_set():
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                    return True
            except (urllib.error.URLError, OSError):
                stop.wait(0.1)
        return False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its workers too: they outlive a server that was killed
        self._process.wait()
