"""What every due index promises."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.models import Tenant
from jobs.ids import new_job_id
from jobs.models import Job
from jobs.states import JobStatus
from scheduling.index import DueIndex

SECOND = timedelta(seconds=1)


class DueIndexContract:
    """Inherit it and give it an `index` fixture. Jobs really exist: an index may look at their rows."""

    index: DueIndex

    @pytest.fixture(autouse=True)
    def arrange(self, index: DueIndex, team: Tenant) -> None:
        self.index = index
        self.team = team
        # Some adapters count a lease in the database's time, so tests may not invent theirs.
        self.now = timezone.now()

    def due(self, at: datetime, beside: Job | None = None) -> Job:
        """A job due at `at`, known to the database and to the index, as after a commit."""
        job = Job.objects.create(id=self.new_id(beside), tenant=self.team, task="record", next_run_at=at)
        self.index.put({job.id: at})
        return job

    def new_id(self, beside: Job | None) -> UUID:
        """An id of a job that the index keeps in order with the one `beside` it: of most indexes, any."""
        return new_job_id()

    def lease(self, now: datetime | None = None, limit: int = 100, seconds: float = 10) -> list:
        now = now or self.now
        return self.index.lease(now=now, until=now + seconds * SECOND, limit=limit)

    def test_due_jobs_are_leased_earliest_first(self) -> None:
        later = self.due(self.now - SECOND)
        earlier = self.due(self.now - 2 * SECOND, beside=later)

        assert self.lease() == [earlier.id, later.id]

    def test_it_tells_when_the_next_job_is_due_and_never_too_early(self) -> None:
        assert self.index.next_due(after=self.now) is None
        self.due(self.now + 60 * SECOND)
        for number in range(1, 9):  # in slots of their own, where there are some
            self.due(self.now + number * SECOND)
        self.due(self.now - SECOND)

        told = self.index.next_due(after=self.now)
        later = self.index.next_due(after=self.now + 8 * SECOND)

        assert told is not None and timedelta() <= told - (self.now + SECOND) <= timedelta(milliseconds=1)
        assert later is not None and timedelta() <= later - (self.now + 60 * SECOND) <= timedelta(milliseconds=1)
        assert self.index.next_due(after=self.now + 61 * SECOND) is None

    def test_what_is_leased_is_not_what_is_due_next(self) -> None:
        self.due(self.now - SECOND)
        self.lease()

        assert self.index.next_due(after=self.now) is None

    def test_it_tells_when_a_job_is_due_by_what_it_knows(self) -> None:
        due = self.due(self.now + 60 * SECOND)
        gone = Job.objects.create(tenant=self.team, task="record")

        known = self.index.known([due.id, gone.id])

        assert known.keys() == {due.id} and abs(known[due.id] - due.next_run_at) < SECOND
        assert self.index.known([]) == {}

    def test_a_leased_job_is_known(self) -> None:
        job = self.due(self.now - SECOND)
        self.lease()

        assert self.index.known([job.id]).keys() == {job.id}

    def test_once_rebuilt_it_is_complete(self) -> None:
        with self.index.rebuilding():
            pass

        assert self.index.complete()

    def test_a_job_that_is_not_due_is_not_leased(self) -> None:
        self.due(self.now + SECOND)

        assert self.lease() == []

    def test_no_more_than_the_limit_is_leased(self) -> None:
        jobs = [self.due(self.now - 3 * SECOND)]
        jobs += [self.due(self.now - n * SECOND, beside=jobs[0]) for n in (2, 1)]

        assert self.lease(limit=2) == [job.id for job in jobs[:2]]
        assert self.lease(limit=2) == [jobs[2].id]

    def test_a_leased_job_is_hidden_until_its_lease_ends(self) -> None:
        job = self.due(self.now - SECOND)

        assert self.lease(seconds=10) == [job.id]
        assert self.lease(now=self.now + 9 * SECOND) == []
        assert self.lease(now=self.now + 11 * SECOND) == [job.id]

    def test_a_settled_job_is_due_again_at_its_next_time(self) -> None:
        job = self.due(self.now - SECOND)
        self.lease()

        self.settle(job, self.now + 5 * SECOND)

        assert self.lease(now=self.now + 4 * SECOND) == []
        assert self.lease(now=self.now + 6 * SECOND) == [job.id]

    def test_a_job_settled_as_never_due_is_gone(self) -> None:
        job = self.due(self.now - SECOND)
        self.lease()

        self.settle(job, None)

        assert self.lease(now=self.now + 60 * SECOND) == []

    def test_a_job_put_anew_during_its_lease_keeps_the_newer_time(self) -> None:
        job = self.due(self.now - SECOND)
        self.lease()

        self.move(job, self.now + 2 * SECOND)
        self.index.settle({job.id: self.now + 50 * SECOND})

        assert self.lease(now=self.now + 3 * SECOND) == [job.id]

    def test_a_job_put_again_moves(self) -> None:
        job = self.due(self.now - SECOND)

        self.move(job, self.now + 5 * SECOND)

        assert self.lease() == []
        assert self.lease(now=self.now + 6 * SECOND) == [job.id]

    def test_a_discarded_job_is_not_leased(self) -> None:
        job = self.due(self.now - SECOND)

        self.move(job, None)

        assert self.lease() == []

    def test_restoring_adds_what_is_missing_but_does_not_delay_anything(self) -> None:
        known = self.due(self.now - SECOND)
        missing = Job.objects.create(
            id=self.new_id(beside=known), tenant=self.team, task="record", next_run_at=self.now - 2 * SECOND
        )

        self.index.restore({known.id: self.now + 60 * SECOND, missing.id: self.now - 2 * SECOND})

        assert self.lease() == [missing.id, known.id]

    def test_restoring_leaves_leases_alone(self) -> None:
        job = self.due(self.now - SECOND)
        self.lease()

        self.index.restore({job.id: self.now - SECOND})

        assert self.lease() == []

    def test_thousands_of_jobs_pass_through(self) -> None:
        at = self.now - SECOND
        jobs = Job.objects.bulk_create(Job(tenant=self.team, task="record", next_run_at=at) for _ in range(5000))
        self.index.put({job.id: at for job in jobs})

        assert self.index.size() == 5000
        leased = [job for _ in range(50) for job in self.lease(limit=1000)]
        assert len(leased) == 5000
        assert set(leased) == {job.id for job in jobs}

    def settle(self, job: Job, at: datetime | None) -> None:
        """As the poller does: write the row, then settle."""
        status = JobStatus.ACTIVE if at else JobStatus.FINISHED
        Job.objects.filter(pk=job.pk).update(next_run_at=at, status=status, leased_until=None)
        self.index.settle({job.id: at})

    def move(self, job: Job, at: datetime | None) -> None:
        """As an edit does: write the row, then put or discard."""
        job.refresh_from_db()
        job.edit(at)
        if at:
            self.index.put({job.id: at})
        else:
            self.index.discard([job.id])
