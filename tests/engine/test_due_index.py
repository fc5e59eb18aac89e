"""Each due index keeps the promises of the port."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.conf import settings
from django.utils import timezone
from redis import Redis

from accounts.limits import Allowance
from accounts.limits.redis import RedisBuckets
from jobs.ids import new_job_id
from jobs.models import Job
from scheduling.index import IndexIncomplete, IndexUnavailable
from scheduling.index import redis as redis_index
from scheduling.index.database import DatabaseDueIndex
from scheduling.index.fallback import FallbackDueIndex
from scheduling.index.redis import RedisDueIndex
from scheduling.index.slots import Slot, slot_of
from scheduling.rebuild import rebuild
from tests.contracts.due_index import DueIndexContract
from tests.servers.private.redis import PrivateRedis
from tests.servers.private.redis_cluster import private_cluster


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


class RedisContract(DueIndexContract):
    """What an index in Redis promises besides, in however many slots."""

    slots = 1

    @pytest.fixture
    def index(self) -> RedisDueIndex:
        index = self.fresh()
        with index.rebuilding():
            pass
        return index

    def fresh(self, slots: int | None = None) -> RedisDueIndex:
        return RedisDueIndex(settings.REDIS_URL, prefix=settings.NAME_PREFIX, slots=slots or self.slots)

    def new_id(self, beside: Job | None) -> UUID:
        wanted = None if beside is None else slot_of(beside.id, self.slots)
        return next(one for one in iter(new_job_id, None) if wanted in (None, slot_of(one, self.slots)))

    def wipe(self, slot: Slot) -> None:
        for key in slot:  # each by itself, as a client of a cluster has to
            self.index._redis.delete(key)

    def test_a_wiped_index_says_so_instead_of_naming_nothing(self) -> None:
        self.due(self.now - timedelta(seconds=1))
        for slot in self.index._slots:
            self.wipe(slot)

        assert not self.index.complete()
        with pytest.raises(IndexIncomplete):
            self.lease()

    def test_an_index_wiped_during_a_rebuild_stays_incomplete(self) -> None:
        self.index._redis.delete(self.index._slots[0].marker)
        with self.index.rebuilding():
            for key in list(self.index._redis.scan_iter(match=f"{settings.NAME_PREFIX}*")):
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

    def test_an_index_that_nobody_asks_any_more_is_gone_after_a_while(self) -> None:
        """When the number of slots is changed, the old one must neither stay for ever nor be trusted again."""
        self.due(self.now + timedelta(hours=1))
        for slot in self.index._slots:
            self.index._redis.persist(slot.marker)  # as a release before slots has left it

        self.lease()

        for slot in self.index._slots:
            keys = [key for key in slot if self.index._redis.exists(key)]
            assert slot.marker in keys
            assert all(0 < self.index._redis.ttl(key) <= redis_index.UNASKED for key in keys)
        assert any(self.index._redis.exists(slot.due) for slot in self.index._slots)


class SlottedContract(RedisContract):
    slots = 8

    def test_jobs_are_in_every_slot_and_each_is_in_one(self) -> None:
        jobs = {new_job_id(): self.now for _ in range(400)}
        self.index.put(jobs)

        found = [
            UUID(member.decode()) for slot in self.index._slots for member in self.index._redis.zrange(slot.due, 0, -1)
        ]

        assert sorted(found) == sorted(jobs)
        assert all(self.index._redis.zcard(slot.due) for slot in self.index._slots)

    def test_no_slot_waits_for_ever_while_others_fill_every_batch(self) -> None:
        rare = self.due(self.now)
        elsewhere = [one for one in (new_job_id() for _ in range(500)) if slot_of(one, 8) != slot_of(rare.id, 8)]
        self.index.put(dict.fromkeys(elsewhere, self.now - timedelta(seconds=60)))

        leased = [job for _ in range(self.slots) for job in self.lease(limit=5)]

        assert rare.id in leased

    def test_pollers_share_all_slots_and_no_job_is_leased_twice(self) -> None:
        pollers = [self.index, self.fresh(), self.fresh()]
        jobs = {new_job_id(): self.now - timedelta(seconds=1) for _ in range(600)}
        self.index.put(jobs)

        leased = []
        while batch := [
            job
            for poller in pollers
            for job in poller.lease(now=self.now, until=self.now + timedelta(seconds=10), limit=50)
        ]:
            leased += batch

        assert sorted(leased) == sorted(jobs)

    def test_one_wiped_slot_is_noticed_and_costs_no_lease(self) -> None:
        kept = [self.due(self.now - timedelta(seconds=1)) for _ in range(40)]
        lost = slot_of(kept[0].id, self.slots)
        self.wipe(self.index._slots[lost])

        leased, told = [], 0
        for _ in range(self.slots):
            try:
                leased += self.lease()
            except IndexIncomplete:
                told += 1

        assert told, "or nobody would rebuild it"
        assert sorted(leased) == sorted(job.id for job in kept if slot_of(job.id, self.slots) != lost)

    def test_another_number_of_slots_is_a_new_index_that_is_rebuilt_from_the_database(self) -> None:
        jobs = [self.due(self.now - timedelta(seconds=1)) for _ in range(20)]
        others = self.fresh(slots=3)

        with pytest.raises(IndexIncomplete):
            others.lease(now=self.now, until=self.now + timedelta(seconds=10), limit=100)
        rebuild(others)

        leased = others.lease(now=self.now, until=self.now + timedelta(seconds=10), limit=100)
        assert sorted(leased) == sorted(job.id for job in jobs)


@needs_redis
class TestRedisDueIndex(RedisContract):
    def test_its_names_are_those_of_every_release(self) -> None:
        due, leased, marker = self.index._slots[0]

        assert due == f"{settings.NAME_PREFIX}{{punctual}}:due"
        assert leased == f"{settings.NAME_PREFIX}{{punctual}}:leased"
        assert marker == f"{settings.NAME_PREFIX}{{punctual}}:complete"


@needs_redis
class TestRedisDueIndexInSlots(SlottedContract):
    def test_a_poller_whose_number_of_slots_was_changed_goes_on_within_one_round(self, system, new_job) -> None:
        job = new_job()
        system.poller.index = FallbackDueIndex(self.fresh(slots=4), DatabaseDueIndex())

        assert system.poller.tick() == 1
        assert job.executions.count() == 1


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[PrivateRedis]]:
    with private_cluster() as nodes:
        yield nodes


@needs_redis
class TestRedisClusterDueIndex(SlottedContract):
    @pytest.fixture(autouse=True)
    def on_a_cluster(self, cluster: list[PrivateRedis]) -> None:
        self.nodes = cluster
        for node in cluster:
            with Redis.from_url(node.url) as client:
                client.flushall()

    @pytest.fixture
    def index(self, on_a_cluster: None) -> RedisDueIndex:
        index = self.fresh()
        with index.rebuilding():
            pass
        return index

    def fresh(self, slots: int | None = None) -> RedisDueIndex:
        url = self.nodes[0].url.replace("redis://", "redis+cluster://")
        return RedisDueIndex(url, prefix=settings.NAME_PREFIX, slots=slots or self.slots)

    def test_the_slots_are_spread_over_the_nodes(self) -> None:
        self.index.put({new_job_id(): self.now for _ in range(400)})

        for node in self.nodes:
            with Redis.from_url(node.url) as client:
                assert client.dbsize() > 0

    def test_it_tells_what_one_of_its_nodes_says_of_itself(self) -> None:
        told = self.index.server()

        assert told.get("redis_mode", told.get("server_mode")) == "cluster"  # Redis, Valkey
        assert "save" in told
        self.index.ping()

    def test_limits_work_on_it_too(self) -> None:
        buckets = RedisBuckets(self.index._url, prefix=settings.NAME_PREFIX)
        twice = [Allowance("tenant:any", 2, timedelta(minutes=1)), Allowance("key:any", 1, timedelta(minutes=1))]

        first, second = buckets.take(twice), buckets.take(twice)

        assert [draw.admitted for draw in [*first, *second]] == [True, True, True, False]


def test_a_cluster_that_is_away_is_told_plainly_and_does_not_keep_a_process_from_starting() -> None:
    index = RedisDueIndex("redis+cluster://127.0.0.1:1/0")

    with pytest.raises(IndexUnavailable):
        index.ping()
