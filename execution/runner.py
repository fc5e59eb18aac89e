"""Runs one claim, and says what became of it. Knows nothing of threads, leases or brokers."""

from __future__ import annotations

import json
import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from pydantic import BaseModel

from execution.destinations import Destinations, MustWait, private
from execution.hiding import opened_payload, scrubber_of
from execution.registry import InvalidPayload, Registry, Run, Task, UnknownTask
from execution.retry import GiveUp, GiveUpNow, RetryAt, WorkerLost, decide
from execution.spans import attempt
from jobs.clock import Clock
from jobs.documents import check_document, storable_text
from jobs.fingerprints import fingerprint
from jobs.ledger import Claim, Outcome, completion
from jobs.limits import Limits, combined
from jobs.redaction import cleaned_end, cleaned_start
from jobs.states import AttemptOutcome, Status
from scheduler_project.logs import fields_within, hide_within

logger = structlog.get_logger(__name__)

MAX_ERROR = 2000  # characters that are kept of what a handler raised
MAX_TRACEBACK = 32_000  # … and of the traceback, whose end says most


@dataclass(frozen=True, slots=True)
class Runner:
    registry: Registry
    clock: Clock
    limits: Limits  # for jobs and tasks that do not say
    patience: timedelta  # a retry this late, or a dead letter not buried by then, is for the recoverer
    largest_result: int  # bytes, as JSON
    destinations: Destinations
    # Bound once: finding it again for each execution takes ten times as long as a line that is not to be written.
    log: Any = field(default_factory=logger.bind, repr=False)

    def run(self, claim: Claim, run: Run) -> Outcome:
        """Call the handler. Whatever it raises becomes an outcome; nothing escapes."""
        return self.outcome(claim, partial(self._call, claim, run))

    def outcome(self, claim: Claim, answer: Callable[[], Any]) -> Outcome:
        """What `answer` says of the claim: it returns the result, or what went wrong, or raises that."""
        return attempt(claim, self._outcome, answer)

    def _outcome(self, claim: Claim, answer: Callable[[], Any]) -> Outcome:
        before = fields_within.set(claim.told)
        scrubber = scrubber_of(claim)
        hidden = None if scrubber is None else hide_within.set(scrubber)
        began = time.monotonic()
        try:
            result = answer()
            took = time.monotonic() - began
            if isinstance(result, BaseException):
                raise result
            written = self._written(result)
            if scrubber is not None:
                written = self._written(scrubber.clean_document(result))
            self.log.info("execution.completed")
        except MustWait as wait:
            self.log.info("execution.waits", reason=str(wait))
            return self.waits(claim, wait)
        except MemoryError as error:
            outcome = self.out_of_memory(claim, error, took=time.monotonic() - began)
            self.log.warning("execution.out_of_memory", error=outcome.error, then=outcome.status.value)
            return outcome
        except BaseException as error:  # a handler that calls sys.exit() has failed like any other
            outcome = self.failed(claim, error, took=time.monotonic() - began)
            self.log.warning("execution.attempt_failed", error=outcome.error, then=outcome.status.value)
            return outcome
        finally:
            fields_within.reset(before)
            if hidden is not None:
                hide_within.reset(hidden)
        return completion(claim.execution_id, claim.attempt, self.clock.now(), written, took)

    def failed(
        self,
        claim: Claim,
        error: BaseException,
        *,
        ended: AttemptOutcome = AttemptOutcome.FAILED,
        forgiven: bool = False,
        took: float | None = None,
    ) -> Outcome:
        """The outcome of an attempt that ended with `error`: another one later, or none."""
        now = self.clock.now()
        counted = claim.attempt - claim.forgiven - forgiven
        match decide(error, attempt=counted, limits=self.limits_of(claim), now=now, spread=random.random()):
            case RetryAt(at):
                status, retry_at = Status.RETRYING, at
            case GiveUp():
                status, retry_at = Status.FAILED, None
        told = storable_text(f"{type(error).__name__}: {error}")
        trace = storable_text("".join(traceback.format_exception(error)))
        scrubber = scrubber_of(claim)
        clean = str if scrubber is None else scrubber.clean
        told, trace = cleaned_start(clean, told, MAX_ERROR), cleaned_end(clean, trace, MAX_TRACEBACK)
        return Outcome(
            claim.execution_id,
            claim.attempt,
            status,
            now,
            retry_at=retry_at,
            wake_at=(retry_at or now) + self.patience,
            error=told[:MAX_ERROR],
            traceback=trace,
            worker=claim.worker,
            started_at=claim.started_at,
            ended=ended,
            forgiven=forgiven,
            took=took,
            fingerprint=None if retry_at else fingerprint(claim.task, told),
        )

    def out_of_memory(self, claim: Claim, error: BaseException, *, took: float | None = None) -> Outcome:
        """The outcome of an attempt that was refused memory.

        Of those that share a process one took the memory, and any may be the one that was refused more. So none is
        counted until it ran in a process of its own.
        """
        traceback.clear_frames(error.__traceback__)  # what the handler held is free from now on
        told = "out of memory in its process (HANDLER_MEMORY_MIB)"
        if self.is_isolated(claim):
            return self.failed(claim, _caused(MemoryError(told), error), took=took)
        lost = _caused(WorkerLost(told), error)
        return self.failed(claim, lost, ended=AttemptOutcome.CRASHED, forgiven=True, took=took)

    def waits(self, claim: Claim, wait: MustWait) -> Outcome:
        """The outcome of an attempt whose destination is down: it does not count, and comes again when it was told to.

        Of one that has found this out there is a row to tell of it; others were not even made.
        """
        if wait.found is not None:
            outcome = self.failed(claim, wait.found, forgiven=True)
        else:
            error = storable_text(str(wait))
            now = self.clock.now()
            outcome = Outcome(*claim.key, Status.RETRYING, now, error=error, ended=None, forgiven=True)
        return outcome._replace(status=Status.RETRYING, retry_at=wait.at, wake_at=wait.at + self.patience)

    def given_back(self, claim: Claim) -> Outcome:
        """The outcome of an attempt that we stopped for reasons of our own: it does not count, and is sent again."""
        now = self.clock.now()
        return Outcome(claim.execution_id, claim.attempt, Status.SCHEDULED, now, wake_at=now, forgiven=True)

    def limits_of(self, claim: Claim) -> Limits:
        try:
            of_task = self.registry.get(claim.task).limits
        except UnknownTask:
            of_task = Limits()
        return combined(claim.limits, of_task, self.limits)

    def is_isolated(self, claim: Claim) -> bool:
        """Whether it has to run in a process of its own: its task says so, or it may have taken one with it."""
        try:
            return claim.suspect or self.registry.get(claim.task).isolated
        except UnknownTask:
            return False

    def is_last(self, claim: Claim) -> bool:
        """Whether no other attempt follows this one, should it fail."""
        most = self.limits_of(claim).max_retries
        return most is not None and claim.attempt - claim.forgiven > most

    def read(self, claim: Claim) -> tuple[Task, BaseModel]:
        """The claim's task, and the payload as its handler gets it; GiveUpNow if there is no such thing."""
        try:
            task = self.registry.get(claim.task)
            return task, task.read(opened_payload(claim))
        except (UnknownTask, InvalidPayload) as error:
            # Checked when the job was made; the code has changed since, and will not by waiting.
            raise GiveUpNow(str(error)) from error

    def takes_batches(self, claim: Claim) -> bool:
        """Whether its handler is given many at once."""
        return self.registry.batch_size(claim.task) is not None

    def admitted(self, claim: Claim) -> tuple[Task, BaseModel, str | None]:
        """What `read` returns, and the destination. Raises MustWait, or DestinationDown, while that is down."""
        task, payload = self.read(claim)
        if task.destination is None:
            return task, payload, None
        destination = task.destination(payload)
        if not task.shared_destination:
            # Otherwise anybody could keep others from a place, with requests to it that are bound to fail.
            destination = private(destination, claim.tenant_id)
        self.destinations.admit(destination, claim.tenant_id)
        return task, payload, destination

    def watched(self, claim: Claim, destination: str | None, work: Callable[[], Any]) -> Callable[[], Any]:
        """The same work, from which it is also learned how its destination is."""
        if destination is None:
            return work
        return partial(self.destinations.judged, destination, claim.tenant_id, work)

    def _call(self, claim: Claim, run: Run) -> Any:
        task, payload, destination = self.admitted(claim)
        if destination is None:
            return task.handler(payload, run)
        return self.watched(claim, destination, partial(task.handler, payload, run))()

    def _written(self, result: Any) -> str | None:
        """The result as it is kept."""
        if result is None:
            return None
        check_document(result)
        text = json.dumps(result)
        if fault := self.fault_of_result(text):
            # What was done is done, and doing it again would return as much.
            raise GiveUpNow(f"The work is done, but its result {fault}")
        return text

    def fault_of_result(self, text: str) -> str:
        """Why a result, as JSON, cannot be kept; empty when it can. Remote workers are held to the same."""
        if len(text) <= self.largest_result:
            return ""
        return (
            f"has {len(text):,} bytes as JSON; at most {self.largest_result:,} are kept (MAX_RESULT_BYTES). "
            "Store it elsewhere and return where it is."
        )


def _caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error
