"""Buckets keep the promises of the port."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accounts.limits import Allowance, BucketsUnavailable, get_buckets
from accounts.limits.database import DatabaseBuckets
from accounts.models import Bucket
from tests.contracts.buckets import BucketsContract

needs_redis = pytest.mark.skipif(not settings.REDIS_URL, reason="this mode has no Redis")


class TestDatabaseBuckets(BucketsContract):
    @pytest.fixture
    def buckets(self) -> DatabaseBuckets:
        return DatabaseBuckets()

    def test_what_is_given_back_can_be_taken_again(self) -> None:
        one = self.allowance(1)
        self.admitted(one)

        self.buckets.give_back([one])

        assert self.admitted(one) and not self.admitted(one)

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no round trips")
    def test_two_allowances_cost_one_statement(self) -> None:
        with CaptureQueriesContext(connection) as queries:
            self.buckets.take([self.allowance(1), self.allowance(1)])

        assert len(queries) == 1

    def test_whoever_waited_for_its_turn_gets_what_is_left(self) -> None:
        three = self.allowance(3)
        assert self.admitted(three) and self.admitted(three)

        Bucket.objects.update(full_at=F("full_at") + 300_000)  # as the others wrote it who came later, and were quicker

        assert self.admitted(three) and not self.admitted(three)

    def test_buckets_that_have_long_been_full_are_cleared_away(self) -> None:
        self.admitted(self.allowance(1))
        long_ago = time.time_ns() // 1000 - 7_200_000_000
        Bucket.objects.create(name="login:old", full_at=long_ago, admitted=True)

        self.buckets.sweep()

        assert [bucket.name.partition(":")[0] for bucket in Bucket.objects.all()] == ["tenant"]


@needs_redis
class TestRedisBuckets(BucketsContract):
    @pytest.fixture
    def buckets(self):
        from accounts.limits.redis import RedisBuckets

        return RedisBuckets(settings.REDIS_URL, prefix=settings.NAME_PREFIX)

    def test_a_bucket_is_forgotten_once_it_is_full(self) -> None:
        one = Allowance("tenant:brief", 1, timedelta(seconds=30))
        self.admitted(one)

        assert 0 < self.buckets._redis.pttl(self.buckets._prefix + one.name) <= 31_000

    def test_these_are_the_ones_in_use(self) -> None:
        assert type(get_buckets()) is type(self.buckets)


def test_a_redis_that_is_away_is_said_once_and_left_alone_for_a_moment(caplog) -> None:
    from accounts.limits.redis import RedisBuckets

    buckets = RedisBuckets("redis://127.0.0.1:9/0")

    for _ in range(3):
        with pytest.raises(BucketsUnavailable):
            buckets.take([Allowance("tenant:any", 1, timedelta(minutes=1))])

    assert sum("limits.unavailable" in record.getMessage() for record in caplog.records) == 1
