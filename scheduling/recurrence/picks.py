"""Picks a number for a key: spread evenly over many keys, and the same for one key each time it is asked.

Python's own `hash` differs between processes and `random` between versions; a pick must not, because
it is part of when a job runs. For the same reason how it is made may never change: that would move
every job that has jitter or an `H`.
"""

from hashlib import blake2b

_BITS = 64


def pick(size: int, *key: str) -> int:
    """Return a number from 0 up to, but not including, `size` that depends on `key` alone."""
    digest = blake2b("\n".join(key).encode(), digest_size=_BITS // 8).digest()
    return (int.from_bytes(digest, "big") * size) >> _BITS
