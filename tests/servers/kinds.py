"""The three kinds of server the tests can need, and the words used about each.

A table and nothing else: how a server is found or started is the business of the sibling
modules, which all speak of a server by its kind.
"""

from enum import Enum


class Kind(Enum):
    """A kind of server: its name on the command line, on the screen, and in the environment."""

    POSTGRESQL = ("postgresql", "PostgreSQL", "DATABASE_URL")
    REDIS = ("redis", "Redis", "REDIS_URL")
    RABBITMQ = ("rabbitmq", "RabbitMQ", "AMQP_URL")

    def __init__(self, key: str, title: str, variable: str):
        self.key = key
        self.title = title
        self.variable = variable

    @classmethod
    def named(cls, word: str) -> "Kind":
        """Return the kind a person means by `word`; "postgres" is understood too."""
        for kind in cls:
            if word.strip().lower() in (kind.key, kind.key.removesuffix("ql")):
                return kind
        raise ValueError(f"No server named {word!r}. Known: {', '.join(kind.key for kind in cls)}.")
