"""What is said when a tenant or a person has as much of something as they may have."""

from __future__ import annotations

from datetime import timedelta


class QuotaExceeded(Exception):
    """No more of it. With `again_in`, there is after that time; without, only once something is given up."""

    def __init__(
        self, quota: str, *, limit: int, used: int, remedy: str, wanted: int = 1, again_in: timedelta | None = None
    ) -> None:
        self.quota, self.limit, self.used, self.wanted, self.again_in = quota, limit, used, wanted, again_in
        called = quota.replace("_", " ")
        super().__init__(f"The quota of {called} is {limit:,}; {used:,} used, {wanted:,} more wanted. {remedy}")
