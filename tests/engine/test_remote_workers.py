"""Workers in other languages claim, keep, complete and fail over HTTP, as our own executors do."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import Tenant
from execution import worker_keys
from execution.broker import get_broker
from execution.metrics import COMPLETED
from execution.models import WorkerKey
from execution.processes import get_counter
from jobs import services
from jobs.models import Attempt, Execution
from jobs.services import NewJob
from jobs.states import Priority, Status
from tests.conftest import client_of

VIDEO = {"url": "https://example.com/cat.mp4"}


class Worker:
    """A worker, and what it is told."""

    def __init__(self, secret: str) -> None:
        self.client = APIClient()
        self.client.credentials(HTTP_AUTHORIZATION=f"Worker-Key {secret}")

    def says(self, route: str, status: int = 200, /, **body: Any) -> Any:
        answer = self.client.post(f"/api/v1/worker/{route}", body)
        assert answer.status_code == status, answer.content
        return answer.json()

    def claim(self, **body: Any) -> list[dict[str, Any]]:
        return self.says("claim", **body)["claims"]


def held(claim: dict[str, Any]) -> dict[str, Any]:
    return {"execution": claim["execution"], "attempt": claim["attempt"]}


@pytest.fixture
def worker(db) -> Worker:
    return Worker(worker_keys.make_worker_key(["resize_video"], name="ffmpeg").secret)


@pytest.fixture
def videos(team, system):
    """Executions that wait for such a worker."""

    def create(count: int = 1, *, tenant: Tenant = team, **rest: Any) -> list[Execution]:
        jobs = [NewJob("resize_video", VIDEO, **rest) for _ in range(count)]
        made = {job.id for job in services.create_jobs(jobs, tenant=tenant, actor=None)}
        found = Execution.objects.filter(job__in=made)
        system.run_until(lambda: found.count() == count)
        return list(found)

    return create


def test_a_claim_takes_no_more_than_one_answer_can_hold_and_the_rest_later(worker, videos, monkeypatch) -> None:
    waiting = {str(execution.pk) for execution in videos(5)}
    monkeypatch.setattr("execution.remote_work.MAX_CLAIMED", 2 * len(json.dumps(VIDEO)) + 1)

    claims = [worker.claim(limit=10) for _ in range(4)]

    assert [len(claimed) for claimed in claims] == [2, 2, 1, 0]
    assert {claim["execution"] for claimed in claims for claim in claimed} == waiting
    videos()
    monkeypatch.setattr("execution.remote_work.MAX_CLAIMED", 1)
    assert len(worker.claim(limit=10)) == 1, "a payload that is longer than this is claimed by itself"


def test_named_executions_that_one_answer_cannot_hold_are_left_for_the_next_claim(worker, videos, monkeypatch) -> None:
    wanted = {str(execution.pk) for execution in videos(5)}
    monkeypatch.setattr("execution.remote_work.MAX_CLAIMED", 2 * len(json.dumps(VIDEO)) + 1)
    claimed: list[str] = []
    left = sorted(wanted)

    for count in (2, 2, 1):
        answer = worker.says("claim", executions=left)
        assert len(answer["claims"]) == count
        claimed += [claim["execution"] for claim in answer["claims"]]
        left = answer["left"]

    assert left == [] and len(claimed) == 5 and set(claimed) == wanted
    assert worker.says("claim", executions=claimed) == {"claims": [], "left": []}, "they are held, and not left"


def test_a_video_is_claimed_kept_and_completed(worker, videos) -> None:
    [execution] = videos()

    [claim] = worker.claim(worker="ffmpeg-1")

    assert claim["execution"] == str(execution.pk) and claim["attempt"] == 1
    assert claim["task"] == "resize_video" and claim["payload"] == VIDEO
    assert claim["lease_seconds"] == 4 and claim["deadline"] is not None
    execution.refresh_from_db()
    assert execution.status == Status.RUNNING and execution.worker == "ffmpeg-1"

    kept = worker.says("heartbeat", **held(claim))
    assert kept["kept"] and not kept["cancelled"] and kept["lease_until"] >= claim["lease_until"]

    assert worker.says("complete", **held(claim), result={"width": 640})["recorded"]
    execution.refresh_from_db()
    assert execution.status == Status.COMPLETED and execution.result == {"width": 640} and execution.wake_at is None


def test_our_executors_leave_it_alone_and_no_message_waits_for_nobody(worker, videos, system) -> None:
    [execution] = videos()

    for _ in range(3):
        system.round()

    execution.refresh_from_db()
    assert execution.attempt == 0
    if settings.AMQP_URL:
        assert get_broker().carrier.depth("resize_video") == 0
    assert get_broker().depth("resize_video") == 1


def test_a_failure_is_retried_and_the_last_one_ends_among_the_dead_letters(worker, videos, system) -> None:
    [execution] = videos(retry_delay=0.1)

    for attempt in (1, 2, 3):
        [claim] = worker.claim(wait=20)
        assert claim["attempt"] == attempt
        assert worker.says("fail", **held(claim), error=f"codec {attempt}", traceback="line 1\nline 2")["recorded"]

    execution.refresh_from_db()
    assert execution.status == Status.FAILED and execution.error == "codec 3"
    rows = Attempt.objects.filter(execution=execution).values_list("number", "error", "traceback", "worker")
    assert list(rows) == [(n, f"codec {n}", "line 1\nline 2", "ffmpeg") for n in (1, 2, 3)]
    system.run_until(lambda: get_broker().dead_letters() == 1)


def test_a_worker_may_give_up_now_or_say_when_to_try_again(worker, videos) -> None:
    first, second = sorted(videos(2), key=lambda one: one.pk)
    later = (timezone.now() + timedelta(hours=1)).replace(microsecond=0)
    claims = {claim["execution"]: claim for claim in worker.claim(limit=2)}

    worker.says("fail", **held(claims[str(first.pk)]), error="no such codec", retry=False)
    worker.says("fail", **held(claims[str(second.pk)]), error="busy", retry_at=later.isoformat())

    first.refresh_from_db()
    second.refresh_from_db()
    assert first.status == Status.FAILED
    assert second.status == Status.RETRYING and second.not_before == later


def test_a_worker_that_lost_its_lease_can_say_nothing_more(worker, videos, system) -> None:
    [execution] = videos()
    [claim] = worker.claim()
    Execution.objects.filter(pk=execution.pk).update(wake_at=timezone.now() - timedelta(seconds=1))
    system.recoverer.tick()
    [again] = worker.claim(wait=20)

    for route, rest in (("heartbeat", {}), ("complete", {"result": 1}), ("fail", {"error": "late"})):
        told = worker.says(route, 409, **held(claim), **rest)
        assert "no longer speaks for this execution" in told["detail"]

    assert again["attempt"] == 2
    assert worker.says("complete", **held(again))["recorded"]
    assert Attempt.objects.get().error.startswith("WorkerLost: ffmpeg has stopped answering")


def test_said_twice_is_recorded_once(worker, videos) -> None:
    videos(2)
    done, failed = worker.claim(limit=2)
    counted = COMPLETED.labels(done["task"])
    before = counted._value.get()

    for _ in range(2):
        assert worker.says("complete", **held(done), result=1)["recorded"]
        assert worker.says("fail", **held(failed), error="no", retry=False)["recorded"]

    worker.says("fail", 409, **held(done), error="changed my mind")
    assert Attempt.objects.count() == 1
    assert counted._value.get() == before + 1


def test_many_are_told_of_at_once_each_with_its_own_outcome(worker, videos) -> None:
    videos(3)
    claims = worker.claim(limit=10)
    stranger = {"execution": str(uuid4()), "attempt": 1}

    kept = worker.says("heartbeat", items=[*map(held, claims), stranger])["items"]
    done = worker.says("complete", items=[{**held(claim), "result": "ok"} for claim in claims[:2]] + [stranger])[
        "items"
    ]

    assert [one["kept"] for one in kept] == [True, True, True, False]
    assert [one["recorded"] for one in done] == [True, True, False]
    assert Execution.objects.completed().count() == 2


def test_urgent_ones_are_claimed_first(worker, videos) -> None:
    [low] = videos(priority=Priority.LOW)
    [high] = videos(priority=Priority.HIGH)

    [claim] = worker.claim()

    assert claim["execution"] == str(high.pk)
    assert worker.claim()[0]["execution"] == str(low.pk)


def test_two_workers_never_claim_the_same(worker, videos) -> None:
    videos(20)
    claimed: list[str] = []

    def claim_all() -> None:
        while claims := worker.claim(limit=3):
            claimed.extend(one["execution"] for one in claims)
        connections.close_all()

    threads = [Thread(target=claim_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(claimed) == len(set(claimed)) == 20


def test_a_cancellation_is_heard_at_the_heartbeat_and_the_execution_ends_with_it(worker, videos) -> None:
    [execution] = videos()
    [claim] = worker.claim()
    services.cancel_execution(execution, actor=None)

    assert worker.says("heartbeat", **held(claim))["cancelled"]
    worker.says("fail", **held(claim), error="stopped")

    execution.refresh_from_db()
    assert execution.status == Status.CANCELLED


def test_nobody_is_given_more_time_than_the_limit(worker, videos) -> None:
    [execution] = videos()
    [claim] = worker.claim()
    Execution.objects.filter(pk=execution.pk).update(started_at=timezone.now() - timedelta(seconds=61))

    worker.says("heartbeat", 409, **held(claim))

    assert Attempt.objects.get().error.startswith("TimeLimitExceeded")
    execution.refresh_from_db()
    assert execution.status == Status.RETRYING


def test_a_worker_that_waits_is_answered_as_soon_as_there_is_work(worker, videos, team) -> None:
    answers: list[Any] = []

    def wait() -> None:
        answers.extend(worker.claim(wait=30))
        connections.close_all()

    waiting = Thread(target=wait)
    waiting.start()
    videos()
    waiting.join(30)

    assert len(answers) == 1


def test_a_worker_that_waits_gets_no_work_once_its_key_is_revoked(worker) -> None:
    statuses: list[int] = []

    def wait() -> None:
        statuses.append(worker.client.post("/api/v1/worker/claim", {"wait": 30}).status_code)
        connections.close_all()

    waiting = Thread(target=wait)
    waiting.start()
    worker_keys.revoke(WorkerKey.objects.get())
    waiting.join(60)

    assert statuses[0] in (401, 403)  # refused when it asked, or while it waited


def test_when_too_many_wait_the_others_are_answered_at_once(worker, videos) -> None:
    seats = get_counter()._seats
    taken = 0
    while seats.acquire(blocking=False):
        taken += 1
    try:
        answer = worker.client.post("/api/v1/worker/claim", {"wait": 30})
    finally:
        for _ in range(taken):
            seats.release()

    assert taken == settings.WORKER_POLLS
    assert answer.json() == {"claims": []} and answer["Retry-After"] == "1"


def test_an_owner_s_key_is_for_their_tenant_alone(alice, team, charlie, videos) -> None:
    theirs = charlie.tenants.get()
    videos(2, tenant=theirs)
    [ours] = videos()
    made = client_of(alice).post("/api/v1/worker-keys", {"tasks": ["resize_video"], "name": "mine"})
    worker = Worker(made.json()["key"])

    claims = worker.claim(limit=10)

    assert made.status_code == 201 and "digest" not in made.json()
    assert [claim["execution"] for claim in claims] == [str(ours.pk)]
    foreign = Execution.objects.filter(tenant=theirs)
    assert worker.claim(executions=[str(pk) for pk in foreign.values_list("pk", flat=True)]) == []
    everybody = Worker(worker_keys.make_worker_key(["resize_video"]).secret)
    [other, _] = everybody.claim(limit=10)
    worker.says("complete", 409, **held(other))


def test_charlie_and_mere_members_neither_see_nor_make_nor_revoke_keys(alice, bob, charlie, team) -> None:
    made = client_of(alice).post("/api/v1/worker-keys", {"tasks": ["resize_video"]}).json()

    assert client_of(charlie).delete(f"/api/v1/worker-keys/{made['id']}").status_code == 404
    assert client_of(charlie).get("/api/v1/worker-keys").json() == []
    member = client_of(bob, team)
    assert member.get("/api/v1/worker-keys").status_code == 403
    assert member.post("/api/v1/worker-keys", {"tasks": ["resize_video"]}).status_code == 403
    [listed] = client_of(alice).get("/api/v1/worker-keys").json()
    assert listed["id"] == made["id"] and "key" not in listed


def test_a_revoked_or_expired_key_opens_nothing(alice, team) -> None:
    client = client_of(alice)
    made = client.post("/api/v1/worker-keys", {"tasks": ["resize_video"]}).json()
    worker = Worker(made["key"])
    assert worker.claim() == []
    assert WorkerKey.objects.get().last_used_at is not None

    assert client.delete(f"/api/v1/worker-keys/{made['id']}").status_code == 204

    assert "expired or revoked" in worker.says("claim", 401)["detail"]
    expiring = worker_keys.make_worker_key(["resize_video"], expires_at=timezone.now() - timedelta(seconds=1))
    Worker(expiring.secret).says("claim", 401)
    assert APIClient().post("/api/v1/worker/claim", {}).status_code == 401
    assert client.post("/api/v1/worker/claim", {}).status_code in (401, 403), "a person is no worker"


@pytest.mark.parametrize(
    ("route", "body", "field"),
    [
        ("claim", {"limit": 0}, "limit"),
        ("claim", {"wait": 31}, "wait"),
        ("claim", {"wait": "NaN"}, "wait"),
        ("claim", {"tasks": "resize_video"}, "tasks"),
        ("claim", {"executions": ["x"]}, "executions.0"),
        ("claim", {"executions": [str(uuid4())], "tasks": ["resize_video"]}, "executions"),
        ("claim", {"limmit": 1}, "limmit"),
        ("heartbeat", {}, "execution"),
        ("heartbeat", {"items": []}, "items"),
        ("heartbeat", {"items": [{"execution": str(uuid4())}]}, "items.0.attempt"),
        ("heartbeat", {"items": [], "attempt": 1}, "attempt"),
        ("complete", {"execution": str(uuid4()), "attempt": 2**40}, "attempt"),
        ("complete", {"items": [{"execution": str(uuid4()), "attempt": 1}] * 101}, "items"),
        ("fail", {"execution": str(uuid4()), "attempt": 1}, "error"),
        ("fail", {"execution": str(uuid4()), "attempt": 1, "error": "  "}, "error"),
        ("fail", {"execution": str(uuid4()), "attempt": 1, "error": "x", "retry_at": "soon"}, "retry_at"),
    ],
)
def test_bad_input_is_told_by_field(worker, route, body, field) -> None:
    answer = worker.says(route, 400, **body)

    assert answer["errors"][0]["field"] == field


def test_a_task_that_the_key_is_not_for_is_refused(worker) -> None:
    told = worker.says("claim", 403, tasks=["resize_video", "transcribe"])

    assert told["detail"] == "This key is not for transcribe. It is for resize_video."


def test_the_api_checks_payloads_against_the_declared_schema(api) -> None:
    refused = api.post("/api/v1/jobs", {"task": "resize_video", "payload": {"url": "x", "width": 0}})

    assert refused.status_code == 400
    assert refused.json()["errors"] == [{"field": "payload.width", "message": "0 is less than the minimum of 1."}]


def test_the_command_makes_a_key_for_everybody_s_executions(db, capsys) -> None:
    call_command("make_worker_key", "--task", "resize_video", "--task", "transcribe")

    key = worker_keys.recognise(capsys.readouterr().out.strip())
    assert key is not None and key.tasks == ["resize_video", "transcribe"] and key.tenant is None
    with pytest.raises(CommandError, match="run by our own executors"):
        call_command("make_worker_key", "--task", "send_email")
    with pytest.raises(CommandError, match="No tenant has the id"):
        call_command("make_worker_key", "--task", "resize_video", "--tenant", "x")


def test_those_from_rabbitmq_are_claimed_by_the_ids_of_a_message(team, system) -> None:
    worker = Worker(worker_keys.make_worker_key(["transcribe"]).secret)
    job = services.create_job(NewJob("transcribe", {"talk": 1}), tenant=team, actor=None)
    system.run_until(lambda: job.executions.exists())

    if settings.AMQP_URL:
        assert "consume RabbitMQ" in worker.says("claim", 403)["detail"]
        with (
            closing(get_broker().subscribe(["transcribe"], prefetch=1)) as inbox,
            inbox.take(1, wait=timedelta(seconds=20)) as ids,
        ):
            [claim] = worker.claim(executions=[str(one) for one in ids])
    else:
        [claim] = worker.claim(executions=[str(job.executions.get().pk)])

    assert claim["payload"] == {"talk": 1}
    assert worker.claim(executions=[claim["execution"]]) == [], "it is taken"
    assert worker.says("complete", **held(claim))["recorded"]


def test_a_result_that_is_too_long_is_refused_by_name_and_nothing_is_recorded(worker, videos, monkeypatch) -> None:
    videos(2)
    monkeypatch.setattr(get_counter(), "runner", replace(get_counter().runner, largest_result=100))
    first, second = worker.claim(limit=2)

    alone = worker.says("complete", 400, **held(first), result="x" * 200)
    several = worker.says(
        "complete", 400, items=[held(first) | {"result": "short"}, held(second) | {"result": {"a": "x" * 200}}]
    )

    assert [fault["field"] for fault in alone["errors"]] == ["result"] and "MAX_RESULT_BYTES" in str(alone)
    assert [fault["field"] for fault in several["errors"]] == ["items.1.result"]
    assert not Execution.objects.completed().exists()
    worker.says("complete", 200, **held(first), result="x" * 98)
    worker.says("fail", 400, **held(second), error="x" * 2001)
    worker.says("fail", 400, **held(second), error="x", traceback="x" * 50_001)
