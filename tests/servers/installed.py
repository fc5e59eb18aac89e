"""Server binaries that this machine has, wherever its distribution put them.

It only looks: `started` starts them, `debian` installs them.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.servers.kinds import Kind
from tests.servers.order import Unavailable

SYSTEM_FOLDERS = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"]  # sbin is not on every PATH
ERLANG_FOLDERS = [*SYSTEM_FOLDERS, "/usr/lib/erlang/bin"]


def postgres_binaries() -> Path:
    """Return the folder that holds both `initdb` and `postgres`, the newest version's if several do."""
    # Debian keeps every version's server off the PATH; where it is on the PATH it may be a link.
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    for folder in folders:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise _not_installed("PostgreSQL's server (initdb and postgres)", "postgresql")


def redis_binary() -> Path:
    """Return `redis-server`, or Valkey's, which speaks the same protocol; REDIS_SERVER names one of them."""
    names = [os.environ["REDIS_SERVER"]] if os.environ.get("REDIS_SERVER") else ["redis-server", "valkey-server"]
    found = next(filter(None, map(_which, names)), None)
    if not found:
        raise _not_installed(names[0], names[0])
    return found


def rabbitmq_script() -> Path:
    """Return RabbitMQ's own `rabbitmq-server` script.

    Not Debian's wrapper of the same name, which changes to the machine's own account and folders:
    the real one has `rabbitmq-env` beside it.
    """
    on_path = _which("rabbitmq-server")
    candidates = [Path("/usr/lib/rabbitmq/bin/rabbitmq-server")]
    candidates += [on_path.resolve()] if on_path else []
    for script in candidates:
        if script.exists() and script.with_name("rabbitmq-env").exists():
            return script
    raise _not_installed("rabbitmq-server", "rabbitmq-server")


def epmd_binary() -> Path:
    """Return Erlang's port mapper."""
    found = _which("epmd", ERLANG_FOLDERS)
    if not found:
        raise _not_installed("Erlang's epmd", "rabbitmq-server")
    return found


def is_installed(kind: Kind) -> bool:
    """Return whether a private server of this kind could be started as things are."""
    lookups: dict[Kind, list[Callable[[], Path]]] = {
        Kind.POSTGRESQL: [postgres_binaries],
        Kind.REDIS: [redis_binary],
        Kind.RABBITMQ: [rabbitmq_script, epmd_binary],
    }
    try:
        for lookup in lookups[kind]:
            lookup()
    except Unavailable:
        return False
    return True


def _which(name: str, folders: list[str] = SYSTEM_FOLDERS) -> Path | None:
    found = shutil.which(name) or shutil.which(name, path=":".join(folders))
    return Path(found) if found else None


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in folder.parent.name.split(".") if part.isdigit())


def _not_installed(what: str, package: str) -> Unavailable:
    return Unavailable(f"{what} is not installed", f"install it (Debian: apt-get install {package})")
