"""A client of the Redis that `REDIS_URL` names: one server, or with `redis+cluster://` a cluster of them.

A cluster's client asks for the cluster's map as soon as it is made, so whoever uses one makes it when it is first
needed: a process must start while Redis is away.
"""

from __future__ import annotations

import redis
from redis.backoff import ConstantBackoff
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException
from redis.retry import Retry

CLUSTER = "+cluster"  # after the scheme
FAILURES = (redis.RedisError, RedisClusterException)  # redis-py has no common name for them

Client = redis.Redis | RedisCluster


def connect(url: str, *, timeout: float, pause: float) -> Client:
    """A client that waits `timeout` seconds for an answer, and asks once more after `pause` seconds.

    By default it would ask ten times more: a silent server would hold a request for long.
    """
    retry = Retry(ConstantBackoff(pause), retries=1)
    scheme, separator, rest = url.partition("://")
    if scheme.endswith(CLUSTER):
        url = scheme.removesuffix(CLUSTER) + separator + rest
        return RedisCluster.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry)
    return redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry)


def one_server(client: Client) -> redis.Redis:
    """The server itself, or any node of the cluster: what asks for more than a key's value speaks to one of them."""
    return client.get_random_node().redis_connection if isinstance(client, RedisCluster) else client
