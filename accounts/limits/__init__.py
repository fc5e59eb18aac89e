"""How much may be asked for: the buckets in use, chosen by `REDIS_URL`."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from accounts.limits.base import Allowance, Buckets, BucketsUnavailable, Draw

__all__ = ["Allowance", "Buckets", "BucketsUnavailable", "Draw", "get_buckets"]


@cache
def get_buckets() -> Buckets:
    if settings.REDIS_URL:
        from accounts.limits.redis import RedisBuckets

        return RedisBuckets(settings.REDIS_URL, prefix=settings.NAME_PREFIX)
    from accounts.limits.database import DatabaseBuckets

    return DatabaseBuckets()
