"""A request that is sent twice is carried out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.watching import watched
from jobs import idempotency
from jobs.models import AuditEvent, IdempotencyKey, Job
from jobs.new_jobs import Maker
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
REPLAYED = "Idempotency-Replayed"
THREADS = 50


def mail(**job):
    return {"task": "send_email", "payload": MAIL, "schedule": HOURLY} | job


def create(api, job, key=None):
    return api.post("/api/v1/jobs", job, headers={"Idempotency-Key": key} if key else {})


def test_the_same_key_and_body_return_the_same_job_and_say_so(api) -> None:
    first = create(api, mail(name="one"), "k-1")
    again = create(api, mail(name="one"), "k-1")

    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert REPLAYED not in first and again[REPLAYED] == "true"
    assert first["ETag"] == again["ETag"]
    assert Job.objects.count() == AuditEvent.objects.count() == 1


def test_a_key_may_be_a_field_of_the_body(api) -> None:
    first = create(api, mail(idempotency_key="k-1"))
    by_header = create(api, mail(), "k-1")

    assert first.status_code == 201 and "idempotency_key" not in first.json()
    assert by_header[REPLAYED] == "true" and by_header.json()["id"] == first.json()["id"]


def test_the_order_of_a_bodys_keys_makes_no_difference(api) -> None:
    first = create(api, mail(name="one"), "k-1")
    again = create(api, dict(reversed(mail(name="one").items())), "k-1")

    assert again[REPLAYED] == "true" and again.json()["id"] == first.json()["id"]


def test_the_same_key_with_another_body_is_refused(api) -> None:
    create(api, mail(name="one"), "k-1")

    answer = create(api, mail(name="two"), "k-1")

    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert "another request" in answer.json()["detail"]
    assert Job.objects.count() == 1


def test_what_looks_alike_in_python_is_another_body(api) -> None:
    create(api, mail(payload=MAIL | {"body": "1"}, max_retries=1), "k-1")

    assert create(api, mail(payload=MAIL | {"body": "1"}, max_retries=True), "k-1").status_code in (400, 422)


def test_a_job_shows_itself_as_it_is_now_when_its_creation_is_repeated(api) -> None:
    job = create(api, mail(), "k-1").json()
    api.post(f"/api/v1/jobs/{job['id']}/pause")

    again = create(api, mail(), "k-1")

    assert again.status_code == 201 and again.json()["status"] == "PAUSED"


def test_a_job_that_was_deleted_since_is_not_made_again(api) -> None:
    job = create(api, mail(), "k-1").json()
    api.delete(f"/api/v1/jobs/{job['id']}")

    again = create(api, mail(), "k-1")

    assert again.status_code == 201 and again.json()["id"] == job["id"] and again[REPLAYED] == "true"
    assert not Job.objects.kept().exists()


def test_a_request_that_was_refused_does_not_use_up_its_key(api) -> None:
    assert create(api, mail(task="send_emial"), "k-1").status_code == 400
    assert not IdempotencyKey.objects.exists()

    answer = create(api, mail(), "k-1")

    assert answer.status_code == 201 and REPLAYED not in answer


def test_a_key_that_the_release_before_stored_still_counts(api) -> None:
    job = create(api, mail(), "k-1").json()
    IdempotencyKey.objects.update(fingerprint=idempotency.fingerprint("create_job", mail()))

    again = create(api, mail(), "k-1")

    assert again[REPLAYED] == "true" and again.json()["id"] == job["id"]


def test_a_run_that_has_passed_meanwhile_does_not_spoil_a_repetition(api) -> None:
    soon = mail(schedule={"type": "once", "run_at": "2090-01-01T00:00:00Z"})
    job = create(api, soon, "k-1").json()
    past = mail(schedule={"type": "once", "run_at": "2020-01-01T00:00:00Z"})
    IdempotencyKey.objects.update(fingerprint=idempotency.fingerprint("create_job", past))

    again = create(api, past, "k-1")

    assert again.status_code == 201 and again.json()["id"] == job["id"]


def test_after_a_day_a_key_stands_for_nothing(api) -> None:
    job = create(api, mail(), "k-1").json()
    key = IdempotencyKey.objects.get()
    assert timedelta(hours=23) < key.expires_at - timezone.now() <= timedelta(hours=24)
    IdempotencyKey.objects.update(expires_at=timezone.now())

    again = create(api, mail(name="other"), "k-1")

    assert again.status_code == 201 and REPLAYED not in again and again.json()["id"] != job["id"]
    assert create(api, mail(name="other"), "k-1")[REPLAYED] == "true"


def test_expired_keys_are_deleted_faster_than_new_ones_come_in(api, team) -> None:
    past = timezone.now() - timedelta(days=2)
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(tenant=team, key=f"old-{number}", fingerprint="", made=[], expires_at=past)
        for number in range(12)
    )
    create(api, mail(), "new-1")
    assert IdempotencyKey.objects.count() == 12 + 1 - idempotency.PRUNED

    for number in range(2, 4):
        create(api, mail(), f"new-{number}")

    assert set(IdempotencyKey.objects.values_list("key", flat=True)) == {"new-1", "new-2", "new-3"}


def test_keys_of_one_tenant_are_unknown_to_others(api, charlie) -> None:
    alices = create(api, mail(), "k-1").json()

    charlies = create(client_of(charlie), mail(), "k-1")

    assert REPLAYED not in charlies and charlies.json()["id"] != alices["id"]


@pytest.mark.parametrize("key", [" ", "é", "a\x7f", "x" * 256])
def test_a_bad_header_is_told(api, key) -> None:
    answer = create(api, mail(), key)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


@pytest.mark.parametrize("key", ["", None, 7, "é", "a\nb", "x" * 256, ["a"], " a"])
@pytest.mark.parametrize("path", ["jobs", "jobs/bulk"])
def test_a_bad_field_is_told(api, key, path) -> None:
    body = mail() if path == "jobs" else {"jobs": [mail()]}

    answer = api.post(f"/api/v1/{path}", body | {"idempotency_key": key})

    if key == " a":  # space around it is none of its own, as in every text field
        assert answer.status_code in (200, 201)
    else:
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "idempotency_key"


def test_two_different_keys_in_one_request_are_refused(api) -> None:
    answer = create(api, mail(idempotency_key="a"), "b")

    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "idempotency_key"
    assert create(api, mail(idempotency_key="a"), "a").status_code == 201


def test_many_jobs_in_one_call_are_made_once_too(api) -> None:
    body = {"jobs": [mail(name="one"), mail(task="nothing"), mail(name="two")], "idempotency_key": "k-1"}

    first = api.post("/api/v1/jobs/bulk", body)
    again = api.post("/api/v1/jobs/bulk", body)

    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() and first.json()["created"] == 2
    assert REPLAYED not in first and again[REPLAYED] == "true"
    assert Job.objects.count() == 2
    other = api.post("/api/v1/jobs/bulk", body | {"jobs": [mail()]})
    assert other.status_code == 422
    assert create(api, mail(), "k-1").status_code == 422


def test_without_a_key_nothing_is_looked_up(api) -> None:
    with statements() as plain:
        create(api, mail())
    with statements() as named:
        create(api, mail(name="found by its name", tags=["a", "b"]))

    assert not [one for one in plain if "idempotencykey" in one or "jobterm" in one]
    assert len(named) == len(plain) + 1


@contextmanager
def statements() -> Iterator[list[str]]:
    """What is sent to the database, also by those who do not ask Django."""
    told: list[str] = []
    if connection.vendor == "sqlite":
        with CaptureQueriesContext(connection) as asked:
            yield told
        told += [one["sql"] for one in asked]
    else:
        with watched() as sent:
            yield told
        told += [one.statement for one in sent]


@pytest.fixture
def threads(alice: Any, transactional_db: None) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as pool:
        yield pool


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["jobs", "jobs/bulk"])
def test_fifty_creations_at_once_with_one_key_make_one_job(alice, threads, path) -> None:
    start = Barrier(THREADS)
    body = mail() if path == "jobs" else {"jobs": [mail()]}

    def post(_: int) -> tuple[int, bool, str | None]:
        client = client_of(alice)
        start.wait()
        try:
            answer = client.post(f"/api/v1/{path}", body, headers={"Idempotency-Key": "the one"})
        finally:
            connections.close_all()
        told = answer.json()
        job = told["results"][0]["job"] if "results" in told else told
        return answer.status_code, REPLAYED in answer, job.get("id")

    answers = list(threads.map(post, range(THREADS)))

    [job] = Job.objects.all()
    assert AuditEvent.objects.count() == 1
    done = [one for one in answers if one[0] in (200, 201)]
    assert {one[2] for one in done} == {str(job.id)}
    assert Counter(replayed for _, replayed, _ in done)[False] == 1
    assert {one[0] for one in answers} <= {200, 201, 409}


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time: a second one waits for it")
def test_while_the_first_request_goes_on_a_second_one_is_told_to_wait(api, alice, team) -> None:
    begun, go_on = Event(), Event()
    asked = idempotency.fingerprint("create_job", mail())

    def make() -> list[Job]:
        begun.set()
        go_on.wait(30)
        return []

    def first() -> None:
        try:
            idempotency.once("k-1", asked, tenant=team, make=make)
        finally:
            connections.close_all()

    thread = Thread(target=first)
    thread.start()
    try:
        assert begun.wait(30)
        answer = create(api, mail(), "k-1")
        elsewhere = create(api, mail(), "k-2")
    finally:
        go_on.set()
        thread.join()

    assert answer.status_code == 409 and answer["Retry-After"]
    assert answer["Content-Type"] == "application/problem+json"
    assert elsewhere.status_code == 201


@pytest.mark.django_db(transaction=True)
def test_a_creation_that_fails_half_way_leaves_its_key_free(api, team) -> None:
    def make() -> list[Job]:
        raise RuntimeError("the process went away")

    with pytest.raises(RuntimeError):
        idempotency.once("k-1", idempotency.fingerprint("create_job", mail()), tenant=team, make=make)

    assert create(api, mail(), "k-1").status_code == 201


def test_jobs_of_a_bulk_call_are_checked_before_the_key_is_held(api, monkeypatch) -> None:
    """With SQLite the key's transaction is everybody's only lock, and a thousand jobs take a second to check."""
    held = []
    read = Maker.made_or_refused

    def noting(self: Maker, *args: Any) -> Any:
        held.append(connection.in_atomic_block and len(connection.savepoint_ids) > depth)
        return read(self, *args)

    depth = len(connection.savepoint_ids)
    monkeypatch.setattr(Maker, "made_or_refused", noting)
    answer = api.post("/api/v1/jobs/bulk", {"jobs": [mail()] * 3}, headers={"Idempotency-Key": "k-1"})

    assert answer.json()["created"] == 3 and held == [False] * 3
