"""Serves workers that are not ours: they claim, keep, complete and fail executions, as our executors do.

The very moves of the ledger are made for them, each guarded by the attempt's number, so that retries, dead letters and
history are the same. A worker that has lost its lease, or whose key is not for that work, changes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from threading import BoundedSemaphore
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import TextField
from django.db.models.functions import Cast, Coalesce, Length

from execution.hiding import opened_payload, scrubber_of
from execution.metrics import count_claimed, count_settled
from execution.models import WorkerKey
from execution.outbox import Outbox
from execution.retry import GiveUpNow, RetryLater, TimeLimitExceeded
from execution.runner import MAX_ERROR, MAX_TRACEBACK, Runner
from execution.spans import trace_claimed, trace_ended
from execution.worker_keys import still_valid
from jobs import ledger
from jobs.clock import Clock
from jobs.documents import storable_text
from jobs.ledger import Attempted, Claim, Outcome
from jobs.models import Attempt, Execution
from jobs.redaction import cleaned_end
from jobs.sealing import CannotOpen
from jobs.states import AttemptOutcome, Status

MAX_CLAIMED = 4 * 1024 * 1024  # characters of payloads in one answer, which is built in memory
LOOK_AGAIN = 0.2  # seconds between looks for somebody who waits: the most that is added to a lone job


class NotYours(Exception):
    """Tasks were asked for that this key is not for, or that do not wait here."""


class BadResults(Exception):
    """Results that cannot be kept, with the reason for each."""

    def __init__(self, faults: dict[Attempted, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = faults


class RemoteFailure(Exception):
    """A worker says that its attempt has failed."""


class Leased(NamedTuple):
    """An execution that a worker may run until `until`, unless it asks for more time, and not beyond `deadline`."""

    claim: Claim
    lease: timedelta
    until: datetime
    deadline: datetime | None

    @property
    def payload(self) -> Any:
        """With its secrets opened: the worker is where the handler is."""
        return opened_payload(self.claim)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a worker says of an attempt that failed."""

    error: str
    traceback: str = ""
    retry: bool = True
    retry_at: datetime | None = None

    def as_error(self) -> Exception:
        if not self.retry:
            return GiveUpNow(self.error)
        return RetryLater(self.error, self.retry_at) if self.retry_at else RemoteFailure(self.error)


class Kept(NamedTuple):
    """That an execution is still the worker's, and what it should know."""

    until: datetime
    cancelled: bool  # a person wants it to end


class Counter:
    """Safe to share between threads. `carried` are the tasks whose executions a broker hands out, and we do not."""

    def __init__(
        self,
        outbox: Outbox,
        runner: Runner,
        *,
        clock: Clock,
        most_waiting: int,
        longest_wait: timedelta,
        carried: Collection[str] = (),
    ) -> None:
        self.outbox = outbox
        self.runner = runner
        self.clock = clock
        self.longest_wait = longest_wait
        self.carried = frozenset(carried)
        self._seats = BoundedSemaphore(most_waiting)

    def await_work(
        self, key: WorkerKey, tasks: Sequence[str], *, limit: int, worker: str, wait: timedelta
    ) -> tuple[list[Leased], bool]:
        """Claim up to `limit` executions, after waiting for the first of them; whether it was waited for, too.

        Who waits holds one of the few threads of a web server. When too many do, the answer is what is there now.
        """
        deadline = time.monotonic() + min(wait, self.longest_wait).total_seconds()
        leased = self.claim(key, tasks, limit=limit, worker=worker)
        if leased or time.monotonic() >= deadline:
            return leased, True
        if not self._seats.acquire(blocking=False):
            return leased, False
        try:
            while not leased and (left := deadline - time.monotonic()) > 0:
                time.sleep(min(LOOK_AGAIN, left))
                if not still_valid(key):  # it was revoked while its worker waited
                    raise NotYours("This worker key was revoked. Make a new one.")
                leased = self.claim(key, tasks, limit=limit, worker=worker)
            return leased, True
        finally:
            self._seats.release()

    def claim(self, key: WorkerKey, tasks: Sequence[str], *, limit: int, worker: str) -> list[Leased]:
        """Claim up to `limit` executions that wait, most urgent first, and fewer where their payloads are long."""
        wanted = self._allowed(key, tasks)
        now = self.clock.now()
        ready = Execution.objects.ready(now, wanted)
        if key.tenant_id is not None:
            ready = ready.filter(tenant_id=key.tenant_id)
        if not ready.exists():  # without a lock: SQLite has but one for everybody
            return []
        with transaction.atomic():
            # A look for each task, because the index can serve one in order, but not several.
            found: list[tuple[int, datetime, UUID]] = []
            for task in wanted:
                rows = ready.filter(task=task).select_for_update(skip_locked=True, no_key=True)
                found += rows.values_list("priority", "not_before", "pk")[:limit]
            found.sort(key=lambda row: (-row[0], row[1]))
            leased = self._take(_fitting([pk for *_, pk in found[:limit]]), worker, now)
        return self._openable(leased)

    def _allowed(self, key: WorkerKey, tasks: Collection[str]) -> list[str]:
        if foreign := sorted(set(tasks) - set(key.tasks)):
            raise NotYours(f"This key is not for {', '.join(foreign)}. It is for {', '.join(key.tasks)}.")
        wanted = [task for task in dict.fromkeys(tasks or key.tasks) if task not in self.carried]
        if not wanted:
            raise NotYours(f"{', '.join(tasks or key.tasks)}: consume RabbitMQ, and claim by the ids of a message.")
        return wanted

    def claim_these(
        self, key: WorkerKey, ids: Collection[UUID], *, worker: str
    ) -> tuple[list[Leased], Collection[UUID]]:
        """Claim those of these executions that wait, and return those left that do not fit into one answer.

        The others are somebody else's, over, or not for this key.
        """
        now = self.clock.now()
        wanted = Execution.objects.waiting().filter(pk__in=ids, task__in=key.tasks)
        if key.tenant_id is not None:
            wanted = wanted.filter(tenant_id=key.tenant_id)
        with transaction.atomic():
            waiting = list(wanted.order_by("pk").values_list("pk", flat=True))
            fitting = _fitting(waiting)
            leased = self._take(fitting, worker, now)
        return self._openable(leased), waiting[len(fitting) :]

    def _take(self, ids: Collection[UUID], worker: str, now: datetime) -> list[Leased]:
        usual = self.runner.limits.lease
        claims = ledger.claim(ids, worker=worker, now=now, until=now + usual)
        count_claimed(claims)
        trace_claimed(claims)
        leased = [self._leased(claim, now) for claim in claims]
        ledger.heartbeat([(*one.claim.key, one.until) for one in leased if one.lease != usual])
        return leased

    def _openable(self, leased: list[Leased]) -> list[Leased]:
        """Those whose secrets we can open. The others have failed, as they would have with an executor of ours."""
        broken = []
        for one in leased:
            try:
                opened_payload(one.claim)
            except CannotOpen as error:
                broken.append((one.claim, self.runner.failed(one.claim, error)))
        self._settle(broken)
        failed = {claim.key for claim, _ in broken}
        return [one for one in leased if one.claim.key not in failed]

    def heartbeat(self, key: WorkerKey, attempts: Collection[Attempted]) -> dict[Attempted, Kept]:
        """Extend leases; return those that are still the worker's. One past its time limit has failed with that."""
        now = self.clock.now()
        held = {claim.key: self._leased(claim, now) for claim in self._claims(key, attempts)}
        late = [one.claim for one in held.values() if one.deadline is not None and now > one.deadline]
        for claim in late:
            del held[claim.key]
        self._settle([(one, self.runner.failed(one, TimeLimitExceeded("it asked for more time"))) for one in late])
        kept = ledger.heartbeat([(*key_, one.until) for key_, one in held.items()])
        return {key_: Kept(held[key_].until, cancelled) for key_, cancelled in kept.items()}

    def complete(self, key: WorkerKey, results: dict[Attempted, str | None]) -> set[Attempted]:
        """Write results (JSON); return the attempts whose result counts. Raises BadResults before any is written."""
        now = self.clock.now()
        claims = self._claims(key, results)
        cleaned = {one.key: _cleaned(one, results[one.key]) for one in claims}
        faults = {
            which: fault for which, text in cleaned.items() if text and (fault := self.runner.fault_of_result(text))
        }
        if faults:
            raise BadResults(faults)
        done = self._settle(
            [(one, Outcome(*one.key, Status.COMPLETED, now, result=cleaned[one.key])) for one in claims]
        )
        again = [one.key for one in claims if one.key not in done]
        # Said twice, because the first answer got lost on its way.
        rows = Execution.objects.completed().filter(pk__in=[pk for pk, _ in again])
        return done | (set(rows.values_list("pk", "attempt")) & set(again))

    def fail(self, key: WorkerKey, failures: dict[Attempted, Failure]) -> set[Attempted]:
        """Write failures, and what follows from each; return the attempts whose failure counts."""
        claims = self._claims(key, failures)
        done = self._settle([(one, self._failed(one, failures[one.key])) for one in claims])
        again = [one.key for one in claims if one.key not in done]
        rows = Attempt.objects.filter(execution__in=[pk for pk, _ in again], outcome=AttemptOutcome.FAILED)
        return done | (set(rows.values_list("execution_id", "number")) & set(again))

    def _failed(self, claim: Claim, failure: Failure) -> Outcome:
        outcome = self.runner.failed(claim, failure.as_error())
        scrubber = scrubber_of(claim)
        clean = str if scrubber is None else scrubber.clean
        return outcome._replace(
            error=clean(storable_text(failure.error))[:MAX_ERROR],
            traceback=cleaned_end(clean, storable_text(failure.traceback), MAX_TRACEBACK),
        )

    def _settle(self, ended: Sequence[tuple[Claim, Outcome]]) -> set[Attempted]:
        """Write outcomes and send on what follows. Those not sent carry their `wake_at`, for the recoverer."""
        if not ended:
            return set()
        led_to = ledger.settle([outcome for _, outcome in ended])
        settled = [(claim, outcome, status) for (claim, outcome), status in zip(ended, led_to, strict=True)]
        count_settled(settled)
        trace_ended(ended)
        self.outbox.follow_up(settled)
        return {claim.key for claim, _, status in settled if status is not None}

    def _claims(self, key: WorkerKey, attempts: Collection[Attempted]) -> list[Claim]:
        """The claims that stand under these numbers, as far as they are this key's business."""
        standing = ledger.read_claims({execution for execution, _ in attempts})
        return [one for one in standing if one.key in attempts and key.serves(one.task, one.tenant_id)]

    def _leased(self, claim: Claim, now: datetime) -> Leased:
        limits = self.runner.limits_of(claim)
        begun = claim.started_at or now
        deadline = begun + limits.time_limit if limits.time_limit else None
        return Leased(claim, limits.lease, now + limits.lease, deadline)


def _cleaned(claim: Claim, result: str | None) -> str | None:
    """A result (JSON) without the secrets that its worker was given."""
    scrubber = scrubber_of(claim)
    if scrubber is None or result is None:
        return result
    return json.dumps(scrubber.clean_document(json.loads(result)))


def _fitting(ids: Sequence[UUID]) -> list[UUID]:
    """Return those of these executions, from the first on, whose payloads fit into one answer; at least one."""
    if len(ids) <= 1:
        return list(ids)
    length = Length(Cast(Coalesce("payload", "job__payload"), TextField()))
    lengths = dict(Execution.objects.filter(pk__in=ids).values_list("pk", length))
    totals = accumulate(lengths[pk] for pk in ids)
    return [pk for place, (pk, total) in enumerate(zip(ids, totals, strict=True)) if not place or total <= MAX_CLAIMED]
