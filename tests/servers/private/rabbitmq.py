"""A private RabbitMQ node, with an Erlang port mapper (epmd) of its own.

RabbitMQ takes settings from the environment, from /etc and from the home folder. Everything is
pointed into our folder here, so that neither the machine's own node nor its settings are touched,
or even read.
"""

import os
import secrets
import time
from pathlib import Path

from tests.servers import installed
from tests.servers.kinds import Kind
from tests.servers.private.ports import free_port, is_open
from tests.servers.private.process import ChildProcess
from tests.servers.private.server import DidNotStart, PrivateServer

EPMD_PATIENCE = 10  # seconds

CONFIGURATION = """\
default_user = punctual
default_pass = {password}
# Publishers are blocked below this: a nearly full disk is no reason for a test to hang.
disk_free_limit.absolute = 1MB
"""


class PrivateRabbitMQ(PrivateServer):
    """Durable as far as queues and messages say so themselves.

    `kill` may still lose a queue declared the moment before: RabbitMQ answers a declaration before
    it is on disk.
    """

    kind = Kind.RABBITMQ

    def __init__(self, *, script: Path | None = None, port: int | None = None, **numbers: int):
        """`numbers` are settings of its own, as in `consumer_timeout=60_000`."""
        super().__init__(durable=True, port=port)
        self._numbers = numbers
        self._script = script or installed.rabbitmq_script()
        self._epmd_binary = installed.epmd_binary()
        self._epmd_port = free_port()
        self._distribution_port = free_port()
        self._epmd: ChildProcess | None = None

    @property
    def url(self) -> str:
        return f"amqp://punctual:{self.password}@127.0.0.1:{self.port}/%2F"

    def stop(self) -> None:
        super().stop()
        self._stop_epmd()

    def kill(self) -> None:
        super().kill()
        self._stop_epmd()

    def _prepare(self, folder: Path) -> None:
        for name in ("data", "logs", "conf.d"):
            (folder / name).mkdir()
        (folder / "rabbitmq.conf").write_text(CONFIGURATION.format(password=self.password))
        (folder / "rabbitmq-env.conf").touch()
        own = ", ".join(f"{{{name}, {value}}}" for name, value in self._numbers.items())
        (folder / "advanced.config").write_text(f"[{{rabbit, [{own}]}}].\n")
        (folder / "enabled_plugins").write_text("[].\n")
        # Erlang would make one from a clock that every user can read, and it opens the node.
        cookie = folder / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)

    def _spawn(self, folder: Path) -> ChildProcess:
        environment = self._environment(folder)
        # Started here, or the node starts one as a daemon, which would outlive the run.
        self._epmd = ChildProcess(
            [self._epmd_binary, "-port", str(self._epmd_port)],
            log=folder / "epmd.log",
            env=environment,
            cwd=folder,
        )
        deadline = time.monotonic() + EPMD_PATIENCE
        while not is_open(self._epmd_port):
            if self._epmd.exit_code() is not None or time.monotonic() > deadline:
                words = self._epmd.last_words()
                self._stop_epmd()
                raise DidNotStart(self.kind.title, "has no port mapper (epmd)", words)
            time.sleep(0.02)
        return ChildProcess([self._script], log=folder / "log", env=environment, cwd=folder)

    def _stop_epmd(self) -> None:
        if self._epmd is not None:
            self._epmd.stop()
            self._epmd = None

    def _environment(self, folder: Path) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RABBITMQ_", "ERL_", "NOTIFY_SOCKET"))
        }
        return inherited | {
            "PATH": os.pathsep.join([os.environ.get("PATH", ""), *installed.ERLANG_FOLDERS]),
            "HOME": str(folder),  # where Erlang looks for its cookie
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            # Any name on localhost will do, but it must differ from other private nodes' names.
            "RABBITMQ_NODENAME": f"punctual-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "logs"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONFIG_FILES": str(folder / "conf.d"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            # Has the launcher script replace itself by the server instead of watching over it: the
            # server becomes our direct child, the one that dies when we do.
            "RUNNING_UNDER_SYSTEMD": "true",
        }
