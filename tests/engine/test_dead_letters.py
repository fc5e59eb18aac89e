"""Executions that have failed for good are run again, or let go."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from uuid import UUID

import pytest
from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel

from execution.broker import BrokerUnavailable, Message, get_broker
from execution.broker.rabbitmq import RabbitMQBroker
from execution.processes import make_recoverer
from execution.registry import InvalidPayload, UnknownTask, registry, task
from execution.retry import GiveUpNow
from jobs import dead_letters, ledger, services
from jobs.dead_letters import SeveralTasks, discard, replay, tidy
from jobs.ledger import NewExecution
from jobs.models import AuditEvent, Execution, Job
from jobs.states import Cause, Priority, Status
from tests.engine.system import System, together

HOURLY = {"type": "interval", "seconds": 3600}
MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
everything = Execution.objects.all


def dead_of(job: Job, count: int = 1, **changes) -> list[UUID]:
    """Executions that have failed for good, each with its message where the broker keeps them."""
    now = timezone.now()
    new = [
        NewExecution(job.id, job.tenant_id, job.task, job.priority, now - timedelta(seconds=n), Cause.RUN_NOW)
        for n in range(count)
    ]
    ledger.record(new, [], now=now, wake_at=now)
    fields = {"status": Status.FAILED, "attempt": 4, "wake_at": None, "finished_at": now, "error": "no"}
    Execution.objects.filter(pk__in=[one.id for one in new]).update(**fields | changes)
    get_broker().bury([Message(job.task, (one.id,), job.priority) for one in new])
    return sorted(one.id for one in new)


def fail(system: System, job: Job) -> Execution:
    """Run the job until it has failed for good and is buried."""
    system.run_until(lambda: job.executions.filter(status=Status.FAILED, wake_at=None))
    return job.executions.get()


def test_a_replay_runs_again_and_completes(system, new_job, recorder) -> None:
    recorder.raises = [GiveUpNow("not today")]
    job = new_job(payload={"a": 1})
    execution = fail(system, job)

    assert replay(everything(), actor=None) == 1
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    execution.refresh_from_db()
    assert execution.attempt == 2 and execution.forgiven == 1
    assert execution.error == "" and execution.wake_at is None
    assert [payload for payload, _ in recorder.runs] == [{"a": 1}, {"a": 1}]
    assert len({run.idempotency_key for _, run in recorder.runs}) == 1
    assert get_broker().dead_letters() == 0


def test_a_replay_is_due_at_once_and_has_no_trace_of_the_failure_but_its_attempts(new_job) -> None:
    dead_of(new_job(HOURLY))
    before = timezone.now() - timedelta(seconds=1)

    replay(everything(), actor=None)

    execution = everything().get()
    assert execution.status == Status.SCHEDULED
    assert execution.finished_at is None and execution.error == ""
    assert before < execution.not_before == execution.wake_at
    assert execution.attempt == execution.forgiven == 4


def test_a_replay_has_all_its_retries_again_and_is_buried_again_once(system, new_job, recorder) -> None:
    recorder.raises = [RuntimeError(f"no {n}") for n in range(10)]
    job = new_job(max_retries=1)
    execution = fail(system, job)

    replay(everything(), actor=None)
    execution = fail(system, job)

    assert execution.attempt == 4 and execution.forgiven == 2
    assert execution.attempts.count() == 4
    assert get_broker().dead_letters() == 1
    assert get_broker().buried(10) == [execution.pk]


def test_a_replay_with_an_edited_payload_is_given_that_and_its_job_is_not(system, new_job, recorder) -> None:
    recorder.raises = [GiveUpNow("no such mailbox")]
    job = new_job(payload={"a": 1})
    fail(system, job)

    replay(everything(), actor=None, payload={"a": 2})
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    job.refresh_from_db()
    assert recorder.runs[-1][0] == {"a": 2}
    assert job.payload == {"a": 1} and job.executions.get().payload == {"a": 2}


def test_an_edited_payload_that_the_task_refuses_changes_nothing(new_job) -> None:
    dead_of(new_job(HOURLY, task="send_email", payload=MAIL))

    with pytest.raises(InvalidPayload, match="to"):
        replay(everything(), actor=None, payload={"subject": "Hello"})

    assert everything().dead().count() == get_broker().dead_letters() == 1
    assert everything().get().payload is None


def test_an_edited_payload_for_a_task_nobody_knows_changes_nothing(new_job) -> None:
    dead_of(new_job(HOURLY), task="gone")

    with pytest.raises(UnknownTask, match="gone"):
        replay(everything(), actor=None, payload={})

    assert everything().dead().count() == 1


def test_one_payload_for_several_tasks_is_refused_and_changes_nothing(new_job) -> None:
    dead_of(new_job(HOURLY))
    dead_of(new_job(HOURLY, task="send_email", payload=MAIL))

    with pytest.raises(SeveralTasks, match="are of 2: record, send_email"):
        replay(everything(), actor=None, payload=MAIL)

    assert everything().dead().count() == 2
    assert replay(everything(), actor=None) == 2


def test_those_that_are_not_dead_do_not_forbid_a_payload(new_job) -> None:
    dead_of(new_job(HOURLY))
    services.run_job_now(new_job(HOURLY, task="send_email", payload=MAIL), actor=None)

    assert replay(everything(), actor=None, payload={"a": 2}) == 1


@pytest.fixture
def strict_task():
    """A task with a required field."""

    class Strict(BaseModel):
        needed: int

    task("strict", payload=Strict)(lambda payload, run: None)
    yield
    del registry._tasks["strict"]


def test_an_empty_payload_is_a_payload(new_job, strict_task) -> None:
    dead_of(new_job(HOURLY), task="strict")

    with pytest.raises(InvalidPayload, match="needed"):
        replay(everything(), actor=None, payload={})


def test_only_the_dead_are_replayed(new_job) -> None:
    job = new_job(HOURLY)
    for status in set(Status) - {Status.FAILED}:
        dead_of(job, status=status)
    dead_of(job, discarded_at=timezone.now())
    before = list(everything().order_by("pk").values_list("status", "attempt", "forgiven"))

    assert replay(everything(), actor=None) == 0
    assert list(everything().order_by("pk").values_list("status", "attempt", "forgiven")) == before
    assert not AuditEvent.objects.filter(action="replay").exists()


@pytest.mark.parametrize("end", [services.cancel_job, services.delete_job])
def test_what_belongs_to_a_job_that_has_ended_is_not_replayed_and_can_be_discarded(new_job, end) -> None:
    job = new_job(HOURLY)
    dead_of(job)
    end(job, actor=None)

    assert replay(everything(), actor=None) == 0
    assert discard(everything(), actor=None) == 1


def test_a_filter_replays_all_that_match_however_many_and_no_others(new_job) -> None:
    many, others = new_job(HOURLY), new_job(HOURLY, task="send_email", payload=MAIL)
    dead_of(many, 1_200)
    kept = dead_of(others, 3)

    assert replay(Execution.objects.filter(task="record"), actor=None) == 1_200

    assert many.executions.filter(status=Status.SCHEDULED).count() == 1_200
    assert list(everything().dead().order_by("pk").values_list("pk", flat=True)) == kept
    assert get_broker().dead_letters() == 3


def test_of_rival_replays_each_execution_counts_for_one(new_job) -> None:
    dead_of(new_job(HOURLY), 600)
    counts: list[int] = []

    together(lambda: counts.append(replay(everything(), actor=None)), count=2)

    assert sum(counts) == 600
    assert sum(event.after["count"] for event in AuditEvent.objects.filter(action="replay")) == 600
    assert get_broker().dead_letters() == 0


def test_a_replay_and_a_discard_at_once_share_the_dead_between_them(new_job) -> None:
    dead_of(new_job(HOURLY), 600)
    acts, counts = [replay, discard], []

    together(lambda: counts.append(acts.pop()(everything(), actor=None)), count=2)

    assert sum(counts) == 600
    assert not everything().dead().exists()
    assert not everything().filter(status=Status.SCHEDULED, discarded_at__isnull=False).exists()


def test_the_discarded_stay_as_history_and_are_no_dead_letters_any_more(system, new_job, recorder) -> None:
    dead_of(new_job(HOURLY), 2)

    assert discard(everything(), actor=None, reason="the shop is closed") == 2
    assert discard(everything(), actor=None) == 0

    for execution in everything():
        assert execution.status == Status.FAILED and execution.error == "no"
        assert execution.discarded_at and execution.reason == "the shop is closed"
    assert get_broker().dead_letters() == 0
    system.round()
    assert recorder.runs == [] and replay(everything(), actor=None) == 0


def test_what_was_discarded_before_it_was_buried_is_not_buried_later(system, new_job) -> None:
    dead_of(new_job(HOURLY), wake_at=timezone.now() - timedelta(seconds=1))

    discard(everything(), actor=None)

    assert system.recoverer.tick() == 0
    assert get_broker().dead_letters() == 0


def test_each_job_is_told_who_replayed_what(new_job, alice) -> None:
    many, one = new_job(HOURLY), new_job(HOURLY)
    dead_of(many, 120)
    single = dead_of(one)

    replay(everything(), actor=alice, payload={"a": 2})

    big = AuditEvent.objects.get(action="replay", job=many)
    small = AuditEvent.objects.get(action="replay", job=one)
    told = {"executions": [str(single[0])], "count": 1}
    assert small.actor == alice and small.tenant_id == one.tenant_id
    assert small.before == {"status": "FAILED", **told}
    assert small.after == {"status": "SCHEDULED", "payload": {"a": 2}, **told}
    assert big.after["count"] == 120 and len(big.after["executions"]) == 100


def test_each_job_is_told_who_discarded_what_and_why(new_job, alice) -> None:
    job = new_job(HOURLY)
    [execution] = dead_of(job)

    discard(everything(), actor=alice, reason="x" * 400)

    event = AuditEvent.objects.get(action="discard", job=job)
    assert event.actor == alice and event.before["discarded_at"] is None
    assert event.after["executions"] == [str(execution)] and event.after["reason"] == "x" * 300


def test_an_act_that_breaks_off_leaves_neither_change_nor_event_of_the_chunk_it_broke_in(new_job, monkeypatch) -> None:
    dead_of(new_job(HOURLY), 5)
    monkeypatch.setattr(dead_letters, "CHUNK", 2)
    write, calls = dead_letters._write_audit, []

    def write_twice(*args, **rest):
        calls.append(args)
        if len(calls) == 3:
            raise RuntimeError("the lights went out")
        write(*args, **rest)

    monkeypatch.setattr(dead_letters, "_write_audit", write_twice)
    with pytest.raises(RuntimeError):
        replay(everything(), actor=None)

    assert everything().dead().count() == 1
    assert sum(event.after["count"] for event in AuditEvent.objects.filter(action="replay")) == 4


def test_a_broker_out_of_reach_is_no_reason_to_fail_and_is_tidied_later(new_job, monkeypatch) -> None:
    dead_of(new_job(HOURLY), 3)

    def away(executions):
        raise BrokerUnavailable("nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(get_broker(), "unbury", away)
        assert replay(everything(), actor=None) == 3
    assert everything().filter(status=Status.SCHEDULED).count() == 3

    make_recoverer().tick()
    assert get_broker().dead_letters() == 0


@pytest.mark.skipif(not settings.AMQP_URL, reason="this mode has no RabbitMQ")
def test_a_replay_while_rabbitmq_does_not_answer_still_runs_once_it_does(
    system, new_job, recorder, monkeypatch
) -> None:
    recorder.raises = [GiveUpNow("not today")]
    job = new_job()
    fail(system, job)
    nowhere = RabbitMQBroker("amqp://guest:guest@127.0.0.1:1/%2F", prefix=settings.NAME_PREFIX)

    with closing(nowhere), monkeypatch.context() as patch:
        patch.setattr(dead_letters, "get_broker", lambda: nowhere)
        assert replay(everything(), actor=None) == 1

    assert get_broker().dead_letters() == 1
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))
    assert tidy(100) == 1


def test_tidying_leaves_what_is_dead(new_job) -> None:
    dead_of(new_job(HOURLY), 3)

    assert tidy(100) == 0
    assert get_broker().dead_letters() == 3


@pytest.mark.skipif(not settings.AMQP_URL, reason="without RabbitMQ there are no messages to tidy")
def test_tidying_removes_second_messages_and_keeps_the_first_of_the_dead(new_job) -> None:
    job = new_job(HOURLY)
    first, second = dead_of(job, 2)
    stale = dead_of(job, status=Status.COMPLETED)
    broker = get_broker()
    broker.bury([Message("record", (one,), Priority.NORMAL) for one in (first, first, *stale)])

    assert tidy(100) == 4
    assert sorted(broker.buried(100)) == [first, second]


@pytest.mark.skipif(not settings.AMQP_URL, reason="without RabbitMQ there are no messages")
def test_what_failed_again_before_its_old_message_was_removed_keeps_its_new_one(new_job, monkeypatch) -> None:
    job = new_job(HOURLY)
    [execution] = dead_of(job)
    broker = get_broker()
    remove = broker.unbury

    def fail_again_first(executions):
        Execution.objects.filter(pk=execution).update(status=Status.FAILED, wake_at=None)
        broker.bury([Message("record", (execution,), Priority.NORMAL)])
        return remove(executions)

    monkeypatch.setattr(broker, "unbury", fail_again_first)

    assert replay(everything(), actor=None) == 1
    assert broker.buried(10) == [execution]
