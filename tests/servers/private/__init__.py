"""Servers of the tests' own: started on a free port, in a temporary folder, gone with the run.

For the chaos tests too, which stop, kill and restart them on the same port and data. None of
them touches a server that it did not start, nor listens anywhere but on the loopback.
"""

from tests.servers.private.postgres import PrivatePostgres
from tests.servers.private.rabbitmq import PrivateRabbitMQ
from tests.servers.private.redis import PrivateRedis
from tests.servers.private.server import DidNotStart, PrivateServer

__all__ = ["DidNotStart", "PrivatePostgres", "PrivateRabbitMQ", "PrivateRedis", "PrivateServer"]
