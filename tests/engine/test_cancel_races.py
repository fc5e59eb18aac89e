"""A person cancels in the very moment in which a worker claims."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from jobs import ledger, services
from jobs.models import Execution
from jobs.states import Status
from tests.engine.system import together

ROUNDS = 25


def test_of_a_cancel_and_a_claim_at_once_either_nobody_runs_it_or_who_does_is_told_to_end(new_job) -> None:
    job = new_job({"type": "interval", "seconds": 3600})
    ends = []

    for _ in range(ROUNDS):
        execution = services.run_job_now(job, actor=None)
        claims: list[ledger.Claim] = []
        now = timezone.now()
        acts = [
            lambda one=execution: services.cancel_execution(one, actor=None),
            lambda one=execution, now=now, got=claims: got.extend(
                ledger.claim([one.pk], worker="me", now=now, until=now + timedelta(minutes=1))
            ),
        ]
        together(lambda acts=acts: acts.pop()() and None, count=2)
        row = Execution.objects.get(pk=execution.pk)
        ends.append(row.status)
        if claims:
            assert row.status == Status.RUNNING and row.cancel_requested_at is not None
            assert list(ledger.heartbeat([(row.pk, 1, now + timedelta(minutes=2))]).values()) == [True]
        else:
            assert row.status == Status.CANCELLED and row.attempt == 0 and row.wake_at is None

    assert set(ends) <= {Status.RUNNING, Status.CANCELLED} and len(ends) == ROUNDS


def test_of_several_cancels_at_once_one_counts_and_the_others_are_told(new_job) -> None:
    execution = services.run_job_now(new_job({"type": "interval", "seconds": 3600}), actor=None)
    refused: list[str] = []

    def cancel() -> None:
        try:
            services.cancel_execution(execution, actor=None)
        except services.IllegalMove as error:
            refused.append(str(error))

    together(cancel, count=4)

    assert len(refused) == 3 and all("CANCELLED" in reason for reason in refused)
    assert execution.job.audit_events.filter(action="cancel_execution").count() == 1
