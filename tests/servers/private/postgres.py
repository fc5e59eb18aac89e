"""A private PostgreSQL.

It refuses to run as root, so that root starts it under another account, which then owns the
folder and must be able to read the binaries.
"""

import os
import pwd
import shutil
import signal
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.servers import installed
from tests.servers.kinds import Kind
from tests.servers.order import Unavailable
from tests.servers.private.process import ChildProcess
from tests.servers.private.server import DidNotStart, PrivateServer

MAX_CONNECTIONS = 200  # two test workers, and chaos tests with a dozen processes, each with a pool
INITDB_PATIENCE = 120  # seconds; one or two when the machine is quiet
ORPHANS_PATIENCE = 15  # seconds for the backends of a killed server to notice that it is gone

# What makes a commit survive a power cut, switched off: a test's data is worth nothing a minute later.
# Not synchronous_commit: without it even a killed server forgets commits, and tests kill servers.
HASTE = {"fsync": "off", "full_page_writes": "off"}


class PrivatePostgres(PrivateServer):
    """`kill` loses nothing that was committed, since the kernel holds it; `durable` waits for the disk."""

    kind = Kind.POSTGRESQL

    def __init__(
        self,
        *,
        binaries: Path | None = None,
        installation: Path | None = None,  # the folder with all its parts, if not the binaries' parent
        durable: bool = False,
        port: int | None = None,
    ):
        super().__init__(durable=durable, port=port)
        self._binaries = binaries or installed.postgres_binaries()
        self._installation = installation or self._binaries.parent
        self._account = _unprivileged_account()

    @property
    def url(self) -> str:
        return f"postgres://postgres:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> Self:
        deadline = time.monotonic() + ORPHANS_PATIENCE
        while True:
            try:
                return super().start()
            except DidNotStart as error:
                # After `kill` the old server's backends may live a moment longer, and PostgreSQL
                # rightly refuses to open data that another process still has in memory.
                if "shared memory block" not in error.reason or time.monotonic() > deadline:
                    raise

    def _prepare(self, folder: Path) -> None:
        password_file = folder / "password"
        password_file.write_text(self.password)
        if self._account:
            if not _open_to_everyone(self._binaries / "postgres"):
                self._move_installation(folder / "installation", self._account)
            for path in (folder, password_file):
                os.chown(path, self._account.pw_uid, self._account.pw_gid)
        where = ["--pgdata", str(folder / "data"), "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        who = ["--username", "postgres", "--pwfile", str(password_file), "--auth", "scram-sha-256"]
        initdb = ChildProcess(
            [self._binaries / "initdb", *where, *who],
            log=folder / "initdb.log",
            cwd=folder,
            account=self._account,
        )
        if (code := initdb.finish(INITDB_PATIENCE)) != 0:
            raise DidNotStart(self.kind.title, f"was not set up (initdb: {code})", initdb.last_words())

    def _spawn(self, folder: Path) -> ChildProcess:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",  # a temporary folder's path may be too long for a socket
            "max_connections": str(MAX_CONNECTIONS),
            **({} if self.durable else HASTE),
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        log = folder / "log"
        log.unlink(missing_ok=True)  # or this start's failure is explained by the last one's words
        return ChildProcess(
            [self._binaries / "postgres", "-D", folder / "data", *words],
            log=log,
            cwd=folder,
            account=self._account,
            when_orphaned=signal.SIGQUIT,  # at once, but its shared memory is given back
        )

    def _stop(self, process: ChildProcess) -> None:
        # SIGTERM would wait for clients to leave; this sends them away.
        process.stop(signal.SIGINT)

    def _move_installation(self, target: Path, account: pwd.struct_passwd) -> None:
        """Go on with a copy that `account` can read: the parts find each other by relative paths."""
        shutil.copytree(self._installation, target, symlinks=True)
        for path in (target, *target.rglob("*")):
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
        self._binaries = target / self._binaries.relative_to(self._installation)
        self._installation = target


def _unprivileged_account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable(
        "PostgreSQL does not run as root, and there is no other account to run it under",
        "add an account named postgres",
    )


def _open_to_everyone(binary: Path) -> bool:
    """Return whether any account may run `binary`: a checkout in root's home is closed to others."""
    return all(path.stat().st_mode & stat.S_IXOTH for path in (binary, *binary.parents))
