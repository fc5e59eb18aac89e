"""A private Redis Cluster: three nodes that share all hash slots, and no replicas."""

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import redis

from tests.servers.private.redis import PrivateRedis

NODES = 3
HASH_SLOTS = 16_384  # Redis' own, which keys are spread over
MEETING_PATIENCE = 30.0  # seconds


@contextmanager
def private_cluster() -> Iterator[list[PrivateRedis]]:
    """The nodes of a cluster that answers; any of their addresses leads to all of them."""
    password = secrets.token_hex(8)
    with ExitStack() as stack:
        nodes = [stack.enter_context(PrivateRedis(clustered=True, password=password)) for _ in range(NODES)]
        clients = [stack.enter_context(redis.Redis.from_url(node.url)) for node in nodes]
        for place, client in enumerate(clients):
            first, end = (HASH_SLOTS * edge // NODES for edge in (place, place + 1))
            client.execute_command("CLUSTER ADDSLOTSRANGE", first, end - 1)
            client.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0].port, nodes[0].bus_port)
        deadline = time.monotonic() + MEETING_PATIENCE
        while not all(_knows_all(client) for client in clients):
            if time.monotonic() > deadline:
                raise TimeoutError(f"The nodes of a Redis Cluster did not meet within {MEETING_PATIENCE} s.")
            time.sleep(0.05)
        yield nodes


def _knows_all(client: redis.Redis) -> bool:
    told = client.execute_command("CLUSTER INFO")
    return told["cluster_state"] == "ok" and told["cluster_known_nodes"] == str(NODES)
