"""The life of a private server: started, stopped, killed, restarted, and in the end removed.

Port and data stay the same from the first `start` to `remove`, so that clients meet after a
restart the server they knew. What the data is worth after `kill` is each server's own business.
"""

import secrets
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.servers import probe
from tests.servers.kinds import Kind
from tests.servers.order import Unavailable
from tests.servers.private import ending
from tests.servers.private.ports import free_port, is_open
from tests.servers.private.process import ChildProcess

START_PATIENCE = 60  # seconds: RabbitMQ needs six on a quiet machine, and test machines are not quiet


class DidNotStart(Unavailable):
    """A private server ended, or stayed silent, before it ever answered."""

    def __init__(self, title: str, fact: str, log: str):
        super().__init__(
            f"a private {title} {fact}: {log or 'its log is empty'}",
            f"mend what its log names, or start {title} yourself",
            surprising=True,
        )


class PrivateServer(ABC):
    """One server of our own. `with` starts it and removes it; `url` holds from the beginning."""

    kind: Kind

    def __init__(self, *, durable: bool = False, port: int | None = None):
        self.durable = durable
        self.port = port or free_port()
        self.password = secrets.token_hex(8)  # the machine's other users shall not get in
        self.folder: Path | None = None
        self._process: ChildProcess | None = None
        self._call_off_removal: Callable[[], None] = lambda: None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, credentials included."""

    @abstractmethod
    def _prepare(self, folder: Path) -> None:
        """Write what the server needs before its first start into the empty `folder`."""

    @abstractmethod
    def _spawn(self, folder: Path) -> ChildProcess:
        """Start the server's process on what `_prepare` has written."""

    def _stop(self, process: ChildProcess) -> None:
        """End the process in good order, everything flushed."""
        process.stop()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.exit_code() is None

    @property
    def pid(self) -> int | None:
        """The server's process, None when it does not run."""
        return self._process.pid if self._process and self.running else None

    def start(self) -> Self:
        """Start, and return when the server answers; on the same data if it ran before."""
        if self.running:
            raise RuntimeError(f"{self.kind.title} already runs on port {self.port}. Stop it first.")
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix=f"punctual-{self.kind.key}-"))
            self._call_off_removal = ending.on_exit(self.remove)
            try:
                self._prepare(self.folder)
            except BaseException:
                self.remove()  # half prepared is worse than not at all
                raise
        self._process = self._spawn(self.folder)
        try:
            self._wait_until_it_answers(self._process)
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Shut down in good order. The data stays for the next `start`."""
        if self._process is not None:
            self._stop(self._process)
            self._process = None

    def kill(self) -> None:
        """End it with SIGKILL, as a crash would. The data stays as the crash left it."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def restart(self) -> Self:
        """Stop if running, and start on the same port and data."""
        self.stop()
        return self.start()

    def remove(self) -> None:
        """Stop and delete the data: the end of this server."""
        self.stop()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None
        self._call_off_removal()

    def _wait_until_it_answers(self, process: ChildProcess) -> None:
        deadline = time.monotonic() + START_PATIENCE
        silence = "nobody listens"
        while time.monotonic() < deadline:
            if (code := process.exit_code()) is not None:
                raise DidNotStart(self.kind.title, f"ended at once with code {code}", process.last_words())
            # The port first: it is cheap to ask, and most of the wait is over when it opens.
            if is_open(self.port):
                try:
                    return probe.answers(self.kind, self.url)
                except Unavailable as refusal:
                    silence = refusal.reason
            time.sleep(0.05)
        raise DidNotStart(
            self.kind.title,
            f"did not answer within {START_PATIENCE} s ({silence})",
            process.last_words(),
        )

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.remove()
            raise

    def __exit__(self, *exception: object) -> None:
        self.remove()
