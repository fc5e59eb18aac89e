"""Which peers there are, and what has to be known about each from outside."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
REMEDY = "`make bench` installs it, from benchmarks/peers/requirements.txt."


class CannotMeasure(Exception):
    """What keeps a peer from being measured; the message says what to do."""


class UnknownPeer(CannotMeasure):
    """A name that none of the peers has."""


class NotInstalled(CannotMeasure):
    """A peer that the environment of the peers lacks."""


@dataclass(frozen=True)
class Peer:
    name: str
    package: str  # whose version is told
    module: str  # what it is to run, in a sibling of this module
    needs: tuple[str, ...]  # the variables that say where its servers are
    processes: int = 1  # how many times its worker is started
    on_record: str = ""  # counts what it has written to PostgreSQL as completed, where it does

    @property
    def keeps_history(self) -> bool:
        return bool(self.on_record)

    @property
    def version(self) -> str:
        return version(self.package)


def version(package: str) -> str:
    """What is installed, or the remedy."""
    question = f"from importlib.metadata import version; print(version({package!r}))"
    try:
        told = subprocess.run([PYTHON, "-c", question], check=True, capture_output=True, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise NotInstalled(f"{package} is not installed in {PYTHON.parents[1].name}. {REMEDY}") from error
    return told.stdout.strip()


PEERS = (
    Peer("celery_plain", "celery", "benchmarks.peers.celery_plain", ("AMQP_URL",), processes=2),
    Peer(
        "celery_history",
        "celery",
        "benchmarks.peers.celery_history",
        ("AMQP_URL", "DATABASE_URL"),
        processes=2,
        on_record="SELECT count(*) FROM celery_taskmeta WHERE status = 'SUCCESS'",
    ),
    Peer("dramatiq", "dramatiq", "benchmarks.peers.dramatiq_rabbitmq", ("AMQP_URL",)),
    Peer("huey", "huey", "benchmarks.peers.huey_redis", ("REDIS_URL",)),
    Peer(
        "procrastinate",
        "procrastinate",
        "benchmarks.peers.procrastinate_postgres",
        ("DATABASE_URL",),
        processes=3,
        on_record="SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'",
    ),
)


def named(name: str) -> Peer:
    for peer in PEERS:
        if peer.name == name:
            return peer
    raise UnknownPeer(f"No peer named {name!r}. There are: {', '.join(peer.name for peer in PEERS)}, and beat.")
