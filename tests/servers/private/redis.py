"""A private Redis."""

from pathlib import Path

from tests.servers import installed
from tests.servers.kinds import Kind
from tests.servers.private.ports import free_port
from tests.servers.private.process import ChildProcess
from tests.servers.private.server import PrivateServer


class PrivateRedis(PrivateServer):
    """Keeps its data over `restart` and `kill` only when `durable`; else both are a wipe.

    With a `password` and `clustered` it is a node that waits to be told of the others.
    """

    kind = Kind.REDIS

    def __init__(
        self,
        *,
        binary: Path | None = None,
        durable: bool = False,
        port: int | None = None,
        clustered: bool = False,
        password: str = "",
    ):
        super().__init__(durable=durable, port=port)
        self._binary = binary or installed.redis_binary()
        self.password = password or self.password
        self.bus_port = free_port() if clustered else None  # where nodes of a cluster meet

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def _prepare(self, folder: Path) -> None:
        # In a file and not on the command line, where every user could read the password.
        (folder / "redis.conf").write_text(
            f"bind 127.0.0.1\n"
            f"port {self.port}\n"
            f"requirepass {self.password}\n"
            f"dir {folder}\n"
            f'save ""\n'
            f"appendonly {'yes' if self.durable else 'no'}\n"
            f"daemonize no\n" + (f"cluster-enabled yes\ncluster-port {self.bus_port}\n" if self.bus_port else "")
        )

    def _spawn(self, folder: Path) -> ChildProcess:
        return ChildProcess([self._binary, folder / "redis.conf"], log=folder / "log", cwd=folder)
