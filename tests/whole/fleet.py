"""Some of the processes, where a test is about one that is missing."""

from __future__ import annotations

import signal
import subprocess

from jobs.models import Presence
from tests.whole.processes import eventually, start

END = 60  # seconds to end in


class Fleet:
    """Processes of chosen roles, each there before the next is started."""

    def __init__(self, **env: str) -> None:
        self._env = env
        self._running: list[subprocess.Popen[str]] = []

    def start(self, role: str) -> subprocess.Popen[str]:
        known = set(Presence.objects.filter(role=role).values_list("pk", flat=True))
        process = start("manage.py", f"run_{role}", **self._env)
        self._running.append(process)
        eventually(lambda: Presence.objects.filter(role=role).exclude(pk__in=known).exists())
        return process

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait(END)
        self._running.remove(process)

    def stop(self) -> None:
        for process in self._running:
            process.send_signal(signal.SIGTERM)
        for process in self._running:
            process.communicate(timeout=END)
