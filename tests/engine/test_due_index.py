"""Each due index keeps the promises of the port."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from scheduling.index import IndexIncomplete, IndexUnavailable
from scheduling.index.database import DatabaseDueIndex
from scheduling.index.fallback import FallbackDueIndex
from tests.contracts.due_index import DueIndexContract


class Away(DatabaseDueIndex):
    """An index whose server does not answer."""

    def lease(self, **options):
        raise IndexUnavailable("nobody there")

    put = discard = settle = restore = lambda self, *arguments: Away.lease(self)


class TestFallbackWhileTheFirstIsAway(DueIndexContract):
    @pytest.fixture
    def index(self) -> FallbackDueIndex:
        return FallbackDueIndex(Away(), DatabaseDueIndex())


needs_redis = pytest.mark.skipif(not settings.REDIS_URL, reason="this mode has no Redis")


class TestDatabaseDueIndex(DueIndexContract):
    @pytest.fixture
    def index(self) -> DatabaseDueIndex:
        return DatabaseDueIndex()


@needs_redis
class TestRedisDueIndex(DueIndexContract):
    @pytest.fixture
    def index(self):
        index = self.fresh()
        with index.rebuilding():
            pass
        return index

    def fresh(self):
        from scheduling.index.redis import RedisDueIndex

        return RedisDueIndex(settings.REDIS_URL, prefix=settings.NAME_PREFIX)

    def test_a_wiped_index_says_so_instead_of_naming_nothing(self) -> None:
        self.due(self.now - timedelta(seconds=1))
        self.index._redis.delete(self.index._marker)

        with pytest.raises(IndexIncomplete):
            self.lease()

    def test_an_index_wiped_during_a_rebuild_stays_incomplete(self) -> None:
        self.index._redis.delete(self.index._marker)
        with self.index.rebuilding():
            for key in self.index._redis.scan_iter(match=f"{settings.NAME_PREFIX}*"):
                self.index._redis.delete(key)

        with pytest.raises(IndexIncomplete):
            self.lease()

    def test_a_lease_whose_answer_was_lost_hides_the_job_for_one_lease_only(self) -> None:
        job = self.due(self.now - timedelta(seconds=1))
        self.lease(seconds=1)  # the answer goes nowhere

        assert self.lease(now=self.now + timedelta(seconds=2)) == [job.id]

    def test_due_times_are_kept_to_the_millisecond_and_never_rounded_up(self) -> None:
        now = timezone.now().replace(microsecond=123_999)
        job = self.due(now)

        assert self.lease(now=now) == [job.id]
