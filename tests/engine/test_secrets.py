"""A secret in a payload is the handler's to know, and nobody else's."""

from __future__ import annotations

import json
import logging

import pytest
import structlog
from django.apps import apps
from django.core import serializers

from execution.registry import InvalidPayload, registry, task
from execution.retry import GiveUpNow
from jobs import dead_letters, services
from jobs.canaries import replay_carefully
from jobs.models import AuditEvent, Execution, Job, Replay
from jobs.redaction import MARK, SEALED, redacted
from jobs.sealing import Seal, get_seal
from jobs.states import Status
from tests.engine.conftest import Anything
from tests.engine.test_dead_letters import HOURLY, dead_of, everything, fail

SECRET = "s3cr3t-hunter22"
OTHER = "0815-4711-9999"
PAYLOAD = {"user": "alice", "password": SECRET, "headers": {"Authorization": f"Bearer {SECRET}"}}


def everything_stored() -> str:
    """All that the database has in our tables, as text."""
    models = [model for model in apps.get_models() if model._meta.app_label in ("jobs", "accounts", "execution")]
    return "".join(serializers.serialize("json", model._default_manager.all()) for model in models)


@pytest.fixture
def lines():
    """What the log says meanwhile, as it is written out."""
    root, written = logging.getLogger(), []
    form = root.handlers[0].formatter

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    kept = Kept()
    kept.setFormatter(form)
    root.addHandler(kept)
    yield written
    root.removeHandler(kept)


def test_the_handler_is_given_the_secret_and_the_database_has_never_seen_it(system, new_job, recorder) -> None:
    job = new_job(payload=PAYLOAD)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    assert recorder.runs[0][0] == PAYLOAD
    stored = everything_stored()
    assert SECRET not in stored and stored.count(SEALED) == 2
    assert AuditEvent.objects.get(action="create").after["payload"]["password"] == MARK


def test_an_error_a_traceback_a_log_and_a_result_do_not_repeat_it(system, new_job, recorder, lines) -> None:
    library = logging.getLogger("some.library")

    def leak(payload, run):
        structlog.get_logger("handler").info("handler.speaks", got=payload.password)
        library.warning("logging in with %s", payload.headers)
        try:
            raise KeyError(payload.headers["Authorization"])
        except KeyError as error:
            raise ValueError(f"cannot log in with {payload.password!r}") from error

    recorder.act = leak
    job = new_job(payload=PAYLOAD, max_retries=0)
    execution = fail(system, job)

    attempt = execution.attempts.get()
    assert execution.error == f"ValueError: cannot log in with '{MARK}'"
    assert "KeyError" in attempt.traceback and MARK in attempt.traceback
    assert SECRET not in everything_stored()
    told = "\n".join(lines)
    assert "handler.speaks" in told and "logging in with" in told and "execution.attempt_failed" in told
    assert SECRET not in told

    recorder.act = lambda payload, run: {"sent": f"as {payload.user}", "with": [payload.password]}
    dead_letters.replay(everything(), actor=None)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))
    assert job.executions.get().result == {"sent": "as alice", "with": [MARK]}


def test_lines_of_others_are_left_as_they_are(system, new_job, recorder, lines) -> None:
    recorder.act = lambda payload, run: logging.getLogger("other").warning("says %s", SECRET)
    job = new_job(payload={"user": "alice"})

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    assert any(SECRET in line for line in lines), "only what is this execution's own secret is taken out"


@pytest.fixture
def paying():
    """A task that names a secret of its own."""
    runs = []

    def pay(payload, run):
        runs.append(payload.model_dump())

    task("pay", payload=Anything, secrets=("card_number",))(pay)
    yield runs
    del registry._tasks["pay"]


def test_a_task_names_its_own_secrets(new_job, paying) -> None:
    job = new_job(HOURLY, task="pay", payload={"cardNumber": OTHER, "amount": 5})

    assert OTHER not in everything_stored()
    assert job.payload["amount"] == 5 and SEALED in job.payload["cardNumber"]


def test_what_was_recorded_before_an_edit_keeps_its_own_secret(system, new_job, recorder) -> None:
    job = new_job(HOURLY, payload=PAYLOAD)
    services.run_job_now(job, actor=None)

    services.update_job(job, {"payload": PAYLOAD | {"password": OTHER}}, actor=None)
    services.run_job_now(job, actor=None)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED).count() == 2)

    assert sorted(payload["password"] for payload, _ in recorder.runs) == sorted([SECRET, OTHER])
    assert SECRET not in everything_stored() and OTHER not in everything_stored()


def test_an_edit_with_the_mark_keeps_the_secret(system, new_job, recorder) -> None:
    job = new_job(HOURLY, payload=PAYLOAD)

    services.update_job(job, {"payload": redacted(job.payload) | {"headers": {"Authorization": OTHER}}}, actor=None)
    services.run_job_now(job, actor=None)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    assert recorder.runs[0][0] == PAYLOAD | {"headers": {"Authorization": OTHER}}


def test_a_job_given_another_task_has_its_secrets_entered_again(new_job, recorder, paying) -> None:
    job = new_job(HOURLY, task="pay", payload={"card_number": OTHER, "token": SECRET})

    with pytest.raises(InvalidPayload, match="token: was stored for the task pay"):
        services.update_job(job, {"task": "record"}, actor=None)
    services.update_job(job, {"task": "record", "payload": {"token": SECRET}}, actor=None)

    job.refresh_from_db()
    assert get_seal().opened(job.payload, job.tenant_id) == {"token": SECRET}
    assert SECRET not in everything_stored()


def test_a_replay_with_marks_gives_each_execution_its_own_secrets(system, new_job, recorder) -> None:
    one, other = (new_job(HOURLY, payload={"password": secret, "token": secret}) for secret in (SECRET, OTHER))
    dead_of(one, 2)
    dead_of(other)

    assert dead_letters.replay(everything(), actor=None, payload={"password": MARK, "token": "renewed"}) == 3
    system.run_until(lambda: everything().filter(status=Status.COMPLETED).count() == 3)

    given = sorted(payload["password"] for payload, _ in recorder.runs)
    assert given == sorted([SECRET, SECRET, OTHER]) and all(
        payload["token"] == "renewed" for payload, _ in recorder.runs
    )
    assert SECRET not in everything_stored() and OTHER not in everything_stored()


def test_a_mark_that_one_of_them_has_nothing_for_changes_none(new_job) -> None:
    for payload in (PAYLOAD, {"user": "bob"}):
        dead_of(new_job(HOURLY, payload=payload))

    with pytest.raises(InvalidPayload, match="password"):
        dead_letters.replay(everything(), actor=None, payload={"password": MARK})

    assert everything().dead().count() == 2


def test_a_careful_replay_keeps_the_new_secret_sealed_while_it_waits(system, new_job, recorder) -> None:
    job = new_job(HOURLY, payload=PAYLOAD)
    dead_of(job, 3)
    payload = {"password": OTHER, "token": MARK}

    with pytest.raises(InvalidPayload, match="token"):
        replay_carefully(everything(), canaries=1, tenant=job.tenant, actor=None, payload=payload)
    payload = {"user": "alice", "password": OTHER, "headers": {"Authorization": MARK}}
    replay_carefully(everything(), canaries=1, tenant=job.tenant, actor=None, payload=payload)
    assert OTHER not in everything_stored()
    assert Replay.objects.get().payload["headers"] == {"Authorization": MARK}
    system.run_until(lambda: everything().filter(status=Status.COMPLETED).count() == 3)

    given = {"user": "alice", "password": OTHER, "headers": {"Authorization": f"Bearer {SECRET}"}}
    assert [payload for payload, _ in recorder.runs] == [given] * 3
    assert SECRET not in everything_stored() and OTHER not in everything_stored()


def test_a_secret_that_no_key_opens_fails_with_the_remedy(system, new_job, recorder) -> None:
    job = new_job(payload=PAYLOAD, max_retries=0)
    lost = Seal(["lost" * 10]).sealed(PAYLOAD, job.tenant_id)
    Job.objects.filter(pk=job.pk).update(payload=lost)

    execution = fail(system, job)

    assert execution.error.startswith("CannotOpen: ") and "SECRETS_OLD_KEYS" in execution.error
    assert recorder.runs == []


def test_a_payload_that_the_task_no_longer_takes_is_told_without_its_secret(system, new_job, recorder) -> None:
    job = new_job(payload=PAYLOAD)
    stolen = get_seal().sealed({"password": SECRET}, job.tenant_id)["password"]
    Job.objects.filter(pk=job.pk).update(task="send_email", payload={SECRET[:4]: 1, "token": stolen})

    execution = fail(system, job)

    assert execution.error.startswith("GiveUpNow: ")
    assert SECRET not in json.dumps([execution.error, execution.attempts.get().traceback])


def test_what_has_no_secrets_is_stored_as_it_came(new_job) -> None:
    payload = {"to": "you", "deep": [{"a": 1}]}

    assert Job.objects.get(pk=new_job(HOURLY, payload=payload).pk).payload == payload
    assert not Execution.objects.exists()


def test_giving_up_says_no_more_than_it_may(system, new_job, recorder) -> None:
    recorder.raises = [GiveUpNow(f"the server refused {SECRET}")]
    job = new_job(payload=PAYLOAD)

    execution = fail(system, job)

    [group] = dead_letters.groups(job.tenant)
    assert group.error == execution.error == f"GiveUpNow: the server refused {MARK}"


def test_what_a_handler_says_while_it_runs_does_not_repeat_it(system, new_job, recorder) -> None:
    def speak(payload, run):
        run.log(f"logging in with {payload.password}")
        run.progress(0.5, f"half of {payload.password}")

    recorder.act = speak
    job = new_job(payload=PAYLOAD)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))
    system.run_until(lambda: f"logging in with {MARK}" in everything_stored())

    assert SECRET not in everything_stored()


@pytest.fixture
def batched():
    """A task whose handler is given many at once, and complains of all of them."""
    given = []

    def complain(payloads: list[Anything], runs: list) -> list:
        given.extend(payload.model_dump() for payload in payloads)
        logging.getLogger("some.library").warning("logging in with %s", given)
        raise GiveUpNow(f"none of {given} will do")

    task("bulk", payload=Anything, batch=True)(complain)
    yield given
    del registry._tasks["bulk"]


def test_a_batch_tells_none_of_the_secrets_of_those_in_it(system, new_job, batched, lines) -> None:
    jobs = [new_job(task="bulk", payload={"password": secret}) for secret in (SECRET, OTHER)]
    system.run_until(lambda: everything().filter(status=Status.FAILED, wake_at=None).count() == 2)

    assert sorted(payload["password"] for payload in batched) == sorted([SECRET, OTHER])
    assert all(MARK in job.executions.get().error for job in jobs)
    told = everything_stored() + "\n".join(lines)
    assert SECRET not in told and OTHER not in told


def test_in_a_batch_one_that_no_key_opens_fails_alone(system, new_job, batched) -> None:
    job, other = (new_job(task="bulk", payload={"password": SECRET}, max_retries=0) for _ in range(2))
    Job.objects.filter(pk=job.pk).update(payload=Seal(["lost" * 10]).sealed({"token": SECRET}, job.tenant_id))

    system.run_until(lambda: everything().filter(status=Status.FAILED, wake_at=None).count() == 2)

    assert job.executions.get().error.startswith("CannotOpen: ")
    assert other.executions.get().error.startswith("GiveUpNow: ")
    assert batched == [{"password": SECRET}]
