"""A child process that cannot outlive the run.

On Linux the kernel signals the child when its parent dies (`leash` asks for that), which covers the
one ending that no handler sees, SIGKILL. On other systems a killed run leaves its children.
The child leads a session of its own, so that Ctrl-C in the terminal reaches the run alone, which
then ends its children in the right order: the tests first, the servers they talk to after.
"""

import os
import pwd
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")


class ChildProcess:
    """A started command, its output in a log file (or on our own screen when `log` is None)."""

    def __init__(
        self,
        command: Iterable[str | Path],
        *,
        log: Path | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        account: pwd.struct_passwd | None = None,
        when_orphaned: signal.Signals = signal.SIGTERM,
    ):
        self.log = log
        who = [str(account.pw_uid), str(account.pw_gid)] if account else ["-", "-"]
        leash = [sys.executable, "-I", str(LEASH), str(int(when_orphaned)), str(os.getpid()), *who]
        output = log.open("ab") if log else None
        try:
            self._popen = _spawner.call(
                lambda: subprocess.Popen(
                    leash + [str(part) for part in command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT if output else None,
                    env=dict(env) if env is not None else None,
                    cwd=cwd,
                    start_new_session=True,
                )
            )
        finally:
            if output:
                output.close()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def exit_code(self) -> int | None:
        """Return how the process ended, None while it runs."""
        return self._popen.poll()

    def wait(self, seconds: float | None = None) -> int:
        """Return the exit code; raise TimeoutError when it is still running after `seconds`."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"Process {self.pid} still runs after {seconds} s.") from error

    def finish(self, seconds: float) -> int:
        """Return the exit code of a command that should end by itself; kill it after `seconds`."""
        try:
            return self.wait(seconds)
        except TimeoutError:
            self.kill()
            return self.wait()

    def stop(self, number: signal.Signals = signal.SIGTERM, *, grace: float = 10) -> None:
        """End the process with `number`, and with SIGKILL when it has not gone after `grace` seconds."""
        self._signal(number)
        try:
            self.wait(grace)
        except TimeoutError:
            self.kill()

    def kill(self) -> None:
        """End the process as a power cut would: SIGKILL, nothing said, nothing flushed."""
        self._signal(signal.SIGKILL)
        self.wait()

    def last_words(self, lines: int = 12) -> str:
        """Return the end of the log: why a server did not start is nowhere else."""
        if self.log is None or not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        if self.exit_code() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)  # a launcher script may sit between us and the server


_Call = tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]


class _Spawner:
    """One thread, alive as long as the process, that starts every child.

    To the kernel the parent is the *thread* that started the child: a server restarted from a
    short-lived thread would die with that thread.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._pid: int | None = None
        self._starting = threading.Lock()

    def call(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._pid != os.getpid():  # a fork copies this object, but not its thread
                self._pid = os.getpid()
                self._calls = queue.SimpleQueue()
                threading.Thread(target=self._serve, args=[self._calls], daemon=True).start()
        answer: Future[subprocess.Popen[bytes]] = Future()
        self._calls.put((start, answer))
        return answer.result()

    @staticmethod
    def _serve(calls: queue.SimpleQueue[_Call]) -> None:
        while True:
            start, answer = calls.get()
            try:
                answer.set_result(start())
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                answer.set_exception(error)


_spawner = _Spawner()
