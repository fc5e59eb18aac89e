"""Dead letters are counted by their cause, and replayed a few first."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from execution.broker import get_broker
from execution.processes import make_recoverer
from execution.retry import GiveUpNow
from jobs import canaries, dead_letters, services
from jobs.canaries import look_after, replay_carefully
from jobs.dead_letters import groups, name_causes
from jobs.fingerprints import fingerprint
from jobs.models import AuditEvent, Execution, Replay
from jobs.states import ReplayState, Status
from tests.engine.system import together
from tests.engine.test_dead_letters import HOURLY, MAIL, dead_of, everything, fail

AT_ONCE = timedelta(0)


def test_an_execution_that_is_given_up_knows_its_cause(system, new_job, recorder) -> None:
    recorder.raises = [GiveUpNow("order 5 is gone"), GiveUpNow("order 17 is gone"), GiveUpNow("the shop is closed")]
    jobs = [new_job() for _ in range(3)]
    for job in jobs:
        fail(system, job)

    gone, closed = groups(jobs[0].tenant)

    assert (gone.task, gone.count, closed.count) == ("record", 2, 1)
    assert gone.error.endswith("is gone") and closed.error == "GiveUpNow: the shop is closed"
    assert gone.fingerprint == fingerprint("record", "GiveUpNow: order 99 is gone") != closed.fingerprint
    assert gone.latest == max(Execution.objects.filter(fingerprint=gone.fingerprint).values_list("pk", flat=True))
    assert gone.first <= gone.last <= timezone.now()


def test_an_attempt_that_is_tried_again_and_one_that_completes_have_no_cause(system, new_job, recorder) -> None:
    recorder.raises = [RuntimeError("not yet")]
    job = new_job()

    system.run_until(lambda: job.executions.filter(attempt=1, status=Status.RETRYING))
    assert job.executions.get().fingerprint is None
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))
    assert job.executions.get().fingerprint is None


def test_a_replay_forgets_the_cause(new_job) -> None:
    dead_of(new_job(HOURLY), fingerprint="0" * 16)

    dead_letters.replay(everything(), actor=None)

    assert everything().get().fingerprint is None


def test_only_the_dead_are_counted_and_only_the_tenants_own(new_job, team, charlie) -> None:
    job = new_job(HOURLY)
    dead_of(job, 3, fingerprint="a" * 16)
    dead_of(job, discarded_at=timezone.now(), fingerprint="a" * 16)
    dead_of(job, status=Status.COMPLETED, fingerprint="a" * 16)

    assert [one.count for one in groups(team)] == [3]
    assert groups(charlie.tenants.get()) == []
    assert [one.count for one in groups(None)] == [3]


def test_causes_are_narrowed_down_by_task_and_job(new_job, team) -> None:
    one, other = new_job(HOURLY), new_job(HOURLY, task="send_email", payload=MAIL)
    dead_of(one, 2, fingerprint="a" * 16)
    dead_of(other, fingerprint="b" * 16)

    assert [group.fingerprint for group in groups(team)] == ["a" * 16, "b" * 16]
    assert [group.fingerprint for group in groups(team, task="send_email")] == ["b" * 16]
    assert [group.fingerprint for group in groups(team, job=one.pk)] == ["a" * 16]
    assert [group.fingerprint for group in groups(team, most=1)] == ["a" * 16]


def test_however_many_causes_there_are_it_takes_two_queries(new_job, team) -> None:
    job = new_job(HOURLY)
    for number in range(5):
        dead_of(job, fingerprint=f"{number:016}")

    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert len(groups(team)) == 5

    assert len(asked) == 2


def test_dead_letters_from_before_causes_were_known_are_named_by_the_recoverer(new_job, team) -> None:
    dead_of(new_job(HOURLY), 3, error="GiveUpNow: order 5 is gone")
    assert [one.fingerprint for one in groups(team)] == [None]

    make_recoverer().tick()

    [group] = groups(team)
    assert group.fingerprint == fingerprint("record", "GiveUpNow: order 5 is gone") and group.count == 3
    assert name_causes(100) == 0


def careful(job, count: int = 1, **rest) -> Replay:
    return replay_carefully(everything(), canaries=count, tenant=job.tenant, actor=None, **rest)


def test_the_others_follow_when_the_first_have_completed(system, new_job, recorder) -> None:
    job = new_job(HOURLY)
    ids = dead_of(job, 5)

    replay = careful(job, 2)
    assert replay.canaries == [str(one) for one in ids[:2]] and replay.state == ReplayState.TRYING
    assert everything().dead().count() == 3 == get_broker().dead_letters()
    system.run_until(lambda: everything().filter(status=Status.COMPLETED).count() == 5)

    replay.refresh_from_db()
    assert replay.state == ReplayState.DONE and replay.finished_at and replay.look_at is None
    assert (replay.gone_through, replay.replayed) == (3, 3)
    assert {run.execution_id for _, run in recorder.runs[:2]} == set(ids[:2])
    assert get_broker().dead_letters() == 0


def test_when_one_of_the_first_fails_the_others_stay_dead_and_the_reason_is_kept(system, new_job, recorder) -> None:
    recorder.raises = [GiveUpNow("still broken")]
    job = new_job(HOURLY)
    ids = dead_of(job, 4)

    replay = careful(job)
    system.run_until(lambda: Replay.objects.filter(state=ReplayState.STOPPED))
    system.run_until(lambda: not everything().dead().filter(wake_at__isnull=False).exists())

    replay.refresh_from_db()
    assert replay.reason == f"{ids[0]} ended as FAILED: GiveUpNow: still broken" and replay.finished_at
    assert list(everything().dead().order_by("pk").values_list("pk", flat=True)) == ids
    assert len(recorder.runs) == 1
    assert get_broker().dead_letters() == 4


def test_a_canary_that_is_cancelled_stops_the_others(new_job) -> None:
    job = new_job(HOURLY)
    dead_of(job, 2)
    replay = careful(job)

    services.cancel_execution(Execution.objects.get(pk=replay.canaries[0]), actor=None)
    look_after(AT_ONCE)

    replay.refresh_from_db()
    assert replay.state == ReplayState.STOPPED and "CANCELLED: cancelled by hand" in replay.reason


def complete(replay: Replay) -> None:
    Execution.objects.filter(pk__in=replay.canaries).update(status=Status.COMPLETED, wake_at=None)


def test_a_crash_between_chunks_repeats_nothing_and_leaves_nothing_out(new_job, monkeypatch) -> None:
    monkeypatch.setattr(canaries, "CHUNK", 2)
    monkeypatch.setattr(canaries, "MOST_STEPS", 2)  # it goes on, and replays one chunk
    job = new_job(HOURLY)
    dead_of(job, 6)
    replay = careful(job)
    complete(replay)

    assert look_after(AT_ONCE) == 2
    replay.refresh_from_db()
    again = Execution.objects.filter(pk__in=replay.others[:2])
    assert again.filter(status=Status.SCHEDULED).count() == 2 and everything().dead().count() == 3
    again.update(status=Status.FAILED)  # these fail again before somebody goes on
    look_after(AT_ONCE)
    look_after(AT_ONCE)

    replay.refresh_from_db()
    assert replay.state == ReplayState.DONE and (replay.gone_through, replay.replayed) == (5, 5)
    assert set(everything().dead()) == set(again)


def test_a_chunk_that_breaks_off_is_as_if_it_had_not_begun(new_job, monkeypatch) -> None:
    job = new_job(HOURLY)
    dead_of(job, 3)
    replay = careful(job)
    complete(replay)

    def lights_out(*args, **rest):
        raise RuntimeError("the lights went out")

    with monkeypatch.context() as patch:
        patch.setattr(Replay, "advance", lights_out)
        with pytest.raises(RuntimeError):
            look_after(AT_ONCE)
    assert everything().dead().count() == 2 and AuditEvent.objects.filter(action="replay").count() == 1

    look_after(AT_ONCE)
    replay.refresh_from_db()
    assert replay.state == ReplayState.DONE and replay.replayed == 2


def test_what_was_discarded_meanwhile_is_passed_over(new_job) -> None:
    job = new_job(HOURLY)
    dead_of(job, 4)
    replay = careful(job)
    dead_letters.discard(Execution.objects.filter(pk=replay.others[0]), actor=None)
    complete(replay)

    look_after(AT_ONCE)

    replay.refresh_from_db()
    assert (replay.gone_through, replay.replayed) == (3, 2)
    assert get_broker().dead_letters() == 0


def test_what_dies_after_the_call_is_left_alone(new_job) -> None:
    job = new_job(HOURLY)
    dead_of(job, 2)
    replay = careful(job)
    later = dead_of(job)
    complete(replay)

    look_after(AT_ONCE)

    assert list(everything().dead().values_list("pk", flat=True)) == later


def test_an_edited_payload_is_given_to_the_first_and_to_the_others(system, new_job, recorder) -> None:
    job = new_job(HOURLY, payload={"a": 1})
    dead_of(job, 3)

    careful(job, payload={"a": 2})
    system.run_until(lambda: everything().filter(status=Status.COMPLETED).count() == 3)

    assert [payload for payload, _ in recorder.runs] == [{"a": 2}] * 3


def test_several_who_look_after_it_at_once_replay_each_once(new_job, monkeypatch) -> None:
    monkeypatch.setattr(canaries, "CHUNK", 10)
    job = new_job(HOURLY)
    dead_of(job, 101)
    replay = careful(job)
    complete(replay)

    together(lambda: look_after(AT_ONCE) and None, count=3)
    look_after(AT_ONCE)

    replay.refresh_from_db()
    assert replay.state == ReplayState.DONE and replay.replayed == 100
    assert sum(event.after["count"] for event in AuditEvent.objects.filter(action="replay")) == 101


def test_with_more_canaries_than_dead_letters_all_of_them_are_tried(new_job) -> None:
    job = new_job(HOURLY)
    dead_of(job, 2)

    replay = careful(job, 10)

    assert len(replay.canaries) == 2 and replay.others == []
    complete(replay)
    look_after(AT_ONCE)
    replay.refresh_from_db()
    assert replay.state == ReplayState.DONE


def test_a_payload_that_may_not_be_given_any_more_stops_its_replay_and_no_other(new_job, settings) -> None:
    mailing, other = new_job(HOURLY, task="send_email", payload=MAIL), new_job(HOURLY, task="send_email", payload=MAIL)
    first = dead_of(mailing, 3)
    dead_of(other, 2)
    replay, rival = (
        replay_carefully(job.executions.all(), canaries=1, tenant=job.tenant, actor=None, payload=payload)
        for job, payload in ((mailing, MAIL | {"body": "again"}), (other, None))
    )
    complete(replay)
    complete(rival)
    settings.MAIL_NEEDS_VERIFIED_OWNER = True

    look_after(AT_ONCE)

    replay.refresh_from_db()
    rival.refresh_from_db()
    assert replay.state == ReplayState.STOPPED and "verified email address" in replay.reason
    assert rival.state == ReplayState.DONE
    assert set(everything().dead().values_list("pk", flat=True)) == set(first[1:])
