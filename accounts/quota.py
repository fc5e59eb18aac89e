"""What is said when a tenant or a person has as much of something as they may have."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Model


class QuotaExceeded(Exception):
    """No more of it. With `again_in`, there is after that time; without, only once something is given up."""

    def __init__(
        self, quota: str, *, limit: int, used: int, remedy: str, wanted: int = 1, again_in: timedelta | None = None
    ) -> None:
        self.quota, self.limit, self.used, self.wanted, self.again_in = quota, limit, used, wanted, again_in
        called = quota.replace("_", " ")
        super().__init__(f"The quota of {called} is {limit:,}; {used:,} used, {wanted:,} more wanted. {remedy}")


def take_turn(owner: Model) -> None:
    """Lock the row of the quota's owner until the transaction ends.

    Call it before counting: of two requests for the last place, the second counts after the first has committed.
    The lock is FOR NO KEY UPDATE, so rows that refer to the owner can still be inserted.
    """
    owner._meta.model._base_manager.select_for_update(no_key=True).only("pk").get(pk=owner.pk)
