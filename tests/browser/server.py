"""One installation for all browser tests: embedded, in a folder of its own, with the demo's tasks and the demo's admin.

The tests never look into its database. They see what a person sees, and set things up over the API as a script would.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from shutil import rmtree
from typing import Any

from tests.whole.processes import free_port, ready_address

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery"
ADMIN = "admin"  # whose password is the same: the demo's
END = 30  # seconds for a stop
SERVERS = ("DATABASE_URL", "REDIS_URL", "AMQP_URL")  # which these tests never use


class Server:
    """Web server, poller, executor and recoverer as `make run` has them."""

    def __init__(self, port: int | None = None, **environment: str) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._var = tempfile.mkdtemp(prefix="punctual-browser-")
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self._tokens: dict[str, str] = {}

    def _environ(self) -> dict[str, str]:
        rest = {name: value for name, value in os.environ.items() if name not in SERVERS}
        ours = {
            "PUNCTUAL_VAR": self._var,
            "DJANGO_SETTINGS_MODULE": "scheduler_project.settings",
            "NAME_PREFIX": "",
            "LOG_LEVEL": "WARNING",
            "DEMO": "true",
            "ISOLATE_HANDLERS": "false",  # child processes take seconds to start on a busy machine
            "RETRY_BASE": "0.2",
        }
        return rest | ours | self._environment

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.launch", str(self.port)],
            cwd=ROOT,
            env=self._environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C reaches pytest alone, which ends it in its turn
        )
        ready_address(self._process)
        # Or it stops when the pipe is full of what nobody reads.
        threading.Thread(target=self._process.communicate, daemon=True).start()

    def run(self, module: str) -> Any:
        """What a module prints as JSON that runs beside the installation, on its database."""
        ran = subprocess.run(
            [sys.executable, "-m", module], cwd=ROOT, env=self._environ(), capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        return json.loads(ran.stdout.splitlines()[-1])

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(END)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def remove(self) -> None:
        self.stop()
        rmtree(self._var, ignore_errors=True)

    def password_of(self, user: str) -> str:
        return ADMIN if user == ADMIN else PASSWORD

    def register(self, user: str) -> None:
        """Have a user of this name, with a tenant of their own."""
        if user != ADMIN and user not in self._tokens:
            person = {"username": user, "email": f"{user}@example.com", "password": PASSWORD}
            self._send("POST", "/api/v1/auth/register", person, {})
            self._token(user)

    def known(self, user: str) -> None:
        """Take note of somebody who has registered in the browser."""
        self._token(user)

    def ask(self, user: str, method: str, path: str, body: Any = None) -> Any:
        """What the API answers to this user."""
        self.register(user)
        headers = {"Authorization": f"Bearer {self._token(user)}"}
        return self._send(method, f"/api/v1/{path}", body, headers)

    def _token(self, user: str) -> str:
        if user not in self._tokens:
            credentials = {"username": user, "password": self.password_of(user)}
            self._tokens[user] = self._send("POST", "/api/v1/auth/token", credentials, {})["access"]
        return self._tokens[user]

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:500]!r}") from error
