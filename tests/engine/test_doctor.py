"""The doctor finds what is wrong with an installation, and names the remedy.

Each test breaks something that works, for real where a server is needed, and asks what the doctor says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from uuid import uuid4

import pika
import pika.exceptions
import pytest
from django.conf import settings as configured
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.models import Membership
from execution.broker import Message, get_broker
from execution.broker.rabbitmq import RabbitMQBroker
from execution.broker.rabbitmq.topology import Topology
from jobs import ledger
from jobs.ledger import NewExecution
from jobs.models import Execution, Job, Presence
from jobs.states import Cause, Status
from scheduler_project.doctor import carrier, configuration, database, examination, index, machine, trust
from scheduler_project.doctor.examination import examine
from scheduler_project.doctor.findings import Finding, Level
from scheduling.index import IndexUnavailable, get_due_index
from scheduling.index.redis import RedisDueIndex
from scheduling.rebuild import rebuild
from tests.engine.system import wipe_index
from tests.servers.private import PrivateRabbitMQ
from tests.servers.private.redis import PrivateRedis

HOURLY = {"type": "interval", "seconds": 3600}
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
needs_postgresql = pytest.mark.skipif("sqlite3" in configured.DATABASES["default"]["ENGINE"], reason="PostgreSQL's")
needs_redis = pytest.mark.skipif(not configured.REDIS_URL, reason="an index of its own")
needs_rabbitmq = pytest.mark.skipif(not configured.AMQP_URL, reason="RabbitMQ's")


@pytest.fixture(autouse=True)
def well() -> None:
    """An installation without a fault: all roles are there, and the index is complete."""
    now = timezone.now()
    for role in ("poller", "executor", "recoverer", "watcher"):
        appear(role, now, tasks=["record", "send_email"] if role == "executor" else [])
    rebuild(get_due_index())


def appear(role: str, seen_at, *, host: str = "here", version: str = "1", tasks=()) -> Presence:
    return Presence.objects.create(
        id=f"{role}:{uuid4().hex[:8]}",
        role=role,
        name=f"{host}-1",
        host=host,
        pid=1,
        version=version,
        since=seen_at,
        seen_at=seen_at,
        tasks=list(tasks),
    )


def found(code: str) -> Finding:
    """The one finding with this code; it has a remedy, and the exit status tells of it."""
    [one] = [one for one in examine() if one.code == code]
    assert one.fact and one.remedy, one
    return one


def codes() -> set[str]:
    return {one.code for one in examine() if one.level > Level.NOTE}


def recorded(job: Job, *, wake_at, status: Status = Status.SCHEDULED, **changes) -> Execution:
    now = timezone.now()
    new = NewExecution(job.id, job.tenant_id, job.task, job.priority, now, Cause.RUN_NOW)
    ledger.record([new], [], now=now, wake_at=wake_at)
    Execution.objects.filter(pk=new.id).update(status=status, **changes)
    return Execution.objects.get(pk=new.id)


@pytest.fixture
def sound_machine(monkeypatch, settings) -> None:
    """How the machine and the servers of a test are configured is nobody's promise."""
    settings.EMAIL_URL = "smtp://127.0.0.1:25"
    monkeypatch.setattr(examination, "ALONE", [one for one in examination.ALONE if one is not machine.disk])
    monkeypatch.setattr(examination, "SERVERS", [])
    monkeypatch.setattr(examination, "DATABASE", [])


def test_where_nothing_is_wrong_nothing_is_found(new_job, sound_machine) -> None:
    new_job(HOURLY)

    assert codes() == set()


def test_a_missing_migration(db) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'jobs' AND name = '0002_crashed_attempts'")
    try:
        one = found("database.migrations_missing")
        assert "0002_crashed_attempts" in one.fact and "manage.py migrate" in one.remedy
        assert one.level is Level.ERROR
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '0002_crashed_attempts', %s)",
                [timezone.now()],
            )


def test_a_database_that_is_newer_than_the_code(db) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '9999_of_tomorrow', %s)",
            [timezone.now()],
        )
    try:
        assert "9999_of_tomorrow" in found("database.newer_than_the_code").fact
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE name = '9999_of_tomorrow'")


@needs_postgresql
def test_a_database_that_forgets_the_last_moment(db) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        try:
            one = found("database.forgets_the_last_moment")
        finally:
            cursor.execute("RESET synchronous_commit")
    assert "synchronous_commit = on" in one.remedy


@pytest.mark.parametrize("role", ["poller", "recoverer", "watcher"])
def test_nobody_of_a_role(role) -> None:
    Presence.objects.filter(role=role).delete()

    one = found(f"work.no_{role}")
    assert f"manage.py run_{role}" in one.remedy and one.level > Level.NOTE


def test_no_executor_while_work_waits_for_one_is_an_error(new_job) -> None:
    now = timezone.now()
    Presence.objects.filter(role="executor").delete()
    recorded(new_job(HOURLY), wake_at=now + MINUTE, not_before=now - 5 * MINUTE)

    one = found("work.no_executor")
    assert one.level is Level.ERROR
    assert "record" in one.fact and "manage.py run_executor" in one.remedy


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.SCHEDULED])
def test_executors_scaled_to_none_are_worth_a_note_while_nothing_waits_for_them(new_job, sound_machine, status) -> None:
    now = timezone.now()
    Presence.objects.filter(role="executor").delete()
    recorded(new_job(HOURLY), wake_at=now + 60 * MINUTE, not_before=now + 60 * MINUTE, status=status)

    one = found("work.no_executor")
    assert one.level is Level.NOTE and "manage.py run_executor" in one.remedy
    assert codes() == set()


def test_work_for_workers_of_their_own_is_no_reason_for_an_executor(new_job, sound_machine) -> None:
    now = timezone.now()
    Presence.objects.filter(role="executor").delete()
    job = new_job(HOURLY, task="resize_video", payload={"url": "https://example.com/film"})
    recorded(job, wake_at=now + MINUTE, not_before=now - 5 * MINUTE)

    assert found("work.no_executor").level is Level.NOTE


@pytest.mark.parametrize("concluded", [None, 20 * MINUTE])
def test_executors_that_complete_nothing_of_what_waits_for_them(new_job, settings, concluded) -> None:
    now = timezone.now()
    recorded(new_job(HOURLY), wake_at=now + MINUTE, not_before=now - 10 * MINUTE)
    Presence.objects.filter(role="executor").update(since=now - 30 * MINUTE, holding=3)
    if concluded:
        Presence.objects.filter(role="executor").update(concluded_at=now - concluded)

    one = found("work.nothing_completes")

    assert one.level is Level.ERROR and "'record', hold 3" in one.fact


def test_executors_that_are_behind_or_have_just_started_are_not_taken_for_stuck(new_job) -> None:
    now = timezone.now()
    recorded(new_job(HOURLY), wake_at=now + MINUTE, not_before=now - 10 * MINUTE)
    assert "work.nothing_completes" not in codes()  # started just now

    Presence.objects.filter(role="executor").update(since=now - 30 * MINUTE, concluded_at=now - MINUTE)
    assert "work.nothing_completes" not in codes()


def test_a_process_that_is_there_and_hangs_inside_a_round() -> None:
    poller = Presence.objects.get(role="poller")
    Presence.objects.filter(pk=poller.pk).update(round_at=poller.seen_at - 6 * MINUTE)

    assert f"poller {poller.name} for 360 s" in found("work.stuck_process").fact


def test_a_process_that_vanished_and_is_forgotten_on_request() -> None:
    appear("executor", timezone.now() - 5 * MINUTE)

    assert found("work.silent_processes").repair
    call("--repair")
    assert Presence.objects.count() == 4


def test_releases_that_run_together() -> None:
    appear("executor", timezone.now(), version="2")

    assert "1, 2" in found("work.mixed_releases").fact


def test_machines_that_made_up_keys_of_their_own(monkeypatch) -> None:
    for key in configuration.KEYS:
        monkeypatch.delenv(key, raising=False)
    appear("executor", timezone.now(), host="there")

    assert "SECRETS_KEY" in found("settings.keys_of_their_own").fact
    assert "S3_BUCKET" in found("settings.uploads_on_one_disk").remedy


def test_executions_that_stopped_moving_are_moved_on_request(new_job) -> None:
    execution = recorded(new_job(HOURLY), wake_at=timezone.now() - 5 * MINUTE)

    assert str(execution.pk) in found("work.overdue_executions").fact
    call("--repair")
    execution.refresh_from_db()
    assert execution.wake_at > timezone.now()


def test_jobs_that_are_due_and_nobody_records(new_job) -> None:
    job = new_job(HOURLY)
    Job.objects.filter(pk=job.pk).update(next_run_at=timezone.now() - 5 * MINUTE)

    one = found("work.overdue_jobs")
    assert str(job.pk) in one.fact and "poller" in one.remedy
    call("--repair")
    now = timezone.now()
    assert get_due_index().lease(now=now, until=now + SECOND, limit=10) == [job.pk]


def test_work_that_nobody_ends(new_job) -> None:
    now = timezone.now()
    job = new_job(HOURLY, time_limit=1)
    recorded(job, wake_at=now + MINUTE, status=Status.RUNNING, attempt=1, worker="here-7", started_at=now - 60 * MINUTE)

    assert "here-7" in found("work.stuck").fact


def test_a_backlog_that_nobody_serves(new_job) -> None:
    now = timezone.now()
    Presence.objects.filter(role="executor").update(tasks=["send_email"])
    recorded(new_job(HOURLY), wake_at=now + MINUTE, not_before=now - 5 * MINUTE)

    assert found("work.nobody_serves").remedy == "Start manage.py run_executor --tasks record."


def test_jobs_of_a_task_that_is_not_registered(new_job) -> None:
    Job.objects.filter(pk=new_job(HOURLY).pk).update(task="send_emial")

    one = found("work.unknown_task")
    assert "send_emial" in one.fact and "EXTRA_APPS" in one.remedy


def test_secrets_that_no_key_opens(new_job, settings) -> None:
    new_job(HOURLY, payload={"password": "open sesame"})
    settings.SECRETS_KEY, settings.SECRETS_OLD_KEYS = "another key that is long enough, too", []

    assert "SECRETS_OLD_KEYS" in found("secrets.cannot_be_opened").remedy


def test_secrets_that_are_not_sealed(new_job) -> None:
    job = new_job(HOURLY)
    Job.objects.filter(pk=job.pk).update(payload={"password": "open sesame"})

    one = found("secrets.unsealed")
    assert str(job.pk) in one.fact and "sesame" not in one.fact + one.remedy


def test_a_tenant_without_an_owner(team) -> None:
    Membership.objects.filter(tenant=team).update(role=Membership.Role.MEMBER)

    assert team.name in found("tenants.without_owner").fact


def test_a_tenant_whose_only_owner_may_not_sign_in_any_more(alice) -> None:
    alice.is_active = False
    alice.save()

    assert "admin" in found("tenants.without_owner").remedy


@needs_redis
def test_an_index_that_lost_a_job_is_rebuilt_on_request(new_job) -> None:
    job = new_job(HOURLY)
    get_due_index().discard([job.pk])

    assert str(job.pk) in found("index.drift").fact
    call("--repair")
    assert job.pk in get_due_index().known([job.pk])


@needs_redis
def test_an_index_that_names_a_job_too_late(new_job) -> None:
    job = new_job(HOURLY)
    get_due_index().put({job.pk: timezone.now() + timedelta(days=3)})

    assert "1 too late" in found("index.drift").fact


@needs_redis
def test_an_index_that_was_wiped(new_job) -> None:
    new_job(HOURLY)
    wipe_index()

    assert found("index.incomplete").repair


@pytest.fixture
def own_redis(monkeypatch) -> Iterator[RedisDueIndex]:
    """The due index on a server that the test may spoil."""
    with PrivateRedis() as server:
        there = RedisDueIndex(server.url)
        monkeypatch.setattr(index, "get_due_index", lambda: there)
        yield there


@needs_redis
def test_a_redis_that_keeps_nothing(own_redis) -> None:
    assert found("redis.keeps_nothing").level is Level.NOTE


@needs_redis
@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_redis_that_evicts(own_redis, policy) -> None:
    own_redis._redis.config_set("maxmemory-policy", policy)

    one = found("redis.evicts")
    assert policy in one.fact and "noeviction" in one.remedy


@needs_redis
def test_a_redis_without_memory_for_more_refuses_a_rebuild(own_redis) -> None:
    own_redis._redis.config_set("maxmemory", own_redis._redis.info()["used_memory"] // 2)

    one = found("redis.memory_full")
    assert one.level is Level.ERROR and "CONFIG SET maxmemory" in one.remedy
    with pytest.raises(IndexUnavailable, match="maxmemory"):
        rebuild(own_redis)


@needs_redis
def test_a_redis_with_little_memory_for_more(own_redis) -> None:
    # Large, so that the server's own memory counts for little. SETRANGE makes it without a buffer of that size, which
    # Redis would count as used until it frees the buffer a moment later.
    own_redis._redis.setrange("ballast", 20_000_000, b".")
    own_redis._redis.config_set("maxmemory", int(own_redis._redis.info()["used_memory"] * 1.05))

    assert found("redis.memory_full").level is Level.WARNING


@needs_redis
def test_a_redis_that_does_not_answer(monkeypatch) -> None:
    monkeypatch.setattr(index, "get_due_index", lambda: RedisDueIndex("redis://127.0.0.1:1/0"))

    assert "REDIS_URL" in found("redis.unreachable").remedy


@needs_rabbitmq
def test_a_queue_that_was_declared_otherwise() -> None:
    queue = Topology(configured.NAME_PREFIX).queue("send_email")
    with pika.BlockingConnection(pika.URLParameters(configured.AMQP_URL)) as link:
        channel = link.channel()
        channel.queue_delete(queue)
        channel.queue_declare(queue, durable=True)
        try:
            one = found("rabbitmq.mismatch")
        finally:
            channel.queue_delete(queue)
    assert "x-max-priority" in one.fact or "x-dead-letter-exchange" in one.fact
    assert f"delete_queue {queue}" in one.remedy


@needs_rabbitmq
def test_looking_declares_nothing() -> None:
    queue = Topology(configured.NAME_PREFIX).queue("image_thumbnail")
    with pika.BlockingConnection(pika.URLParameters(configured.AMQP_URL)) as link:
        link.channel().queue_delete(queue)
        assert get_broker().mismatches(["image_thumbnail"]) == []
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="NOT_FOUND"):
            link.channel().queue_declare(queue, passive=True)


@needs_rabbitmq
def test_a_rabbitmq_that_does_not_answer(monkeypatch) -> None:
    broker = RabbitMQBroker("amqp://guest:guest@127.0.0.1:1/%2F")
    monkeypatch.setattr(carrier, "get_broker", lambda: broker)

    try:
        assert "AMQP_URL" in found("rabbitmq.unreachable").remedy
    finally:
        broker.close()


@needs_rabbitmq
def test_a_rabbitmq_that_answers_and_takes_no_messages(monkeypatch) -> None:
    with PrivateRabbitMQ(vm_memory_high_watermark=0) as server, closing(RabbitMQBroker(server.url)) as broker:
        monkeypatch.setattr(carrier, "get_broker", lambda: broker)

        one = found("rabbitmq.alarm")

        assert one.level is Level.ERROR
        assert "low on memory" in one.fact and "rabbitmqctl status" in one.remedy


def a_clock_that_is_wrong(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine, "database_now", lambda: timezone.now() + 90 * SECOND)


def a_full_disk(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1024))


def a_folder_of_somebody_else(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine.os, "access", lambda *question: False)


def mail_to_a_folder(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(configured, "EMAIL_URL", "")
    patch.setattr(configured, "EMBEDDED", False)


def debug_in_production(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(configured, "DEBUG", True)
    patch.setattr(configured, "PRODUCTION", True)


def a_short_key(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(configured, "SECRETS_OLD_KEYS", ["guess me"])


def an_old_database(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(database, "OLDEST", dict.fromkeys(database.OLDEST, (99, 0)))


def an_old_redis(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(index, "OLDEST", (99, 0))


def an_old_rabbitmq(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(carrier, "OLDEST", (99, 0))


def few_connections(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(database, "FEW_LEFT", 0)


def much_history(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(database, "MANY_ROWS", -1000)  # a table that was never counted has -1
    patch.setattr(configured, "HISTORY_KEPT", None)


@pytest.mark.parametrize(
    ("seed", "code", "remedy"),
    [
        (a_clock_that_is_wrong, "machine.clock_differs", "NTP"),
        (a_full_disk, "machine.disk_full", "PUNCTUAL_VAR"),
        (a_folder_of_somebody_else, "machine.not_writable", "chown"),
        (mail_to_a_folder, "settings.mail_stays_here", "EMAIL_URL"),
        (debug_in_production, "settings.debug", "DEBUG"),
        (a_short_key, "settings.punctual.E003", "token_urlsafe"),
        (an_old_database, "database.too_old", "Upgrade"),
        pytest.param(few_connections, "database.few_connections_left", "max_connections", marks=needs_postgresql),
        pytest.param(much_history, "database.much_history", "HISTORY_KEPT", marks=needs_postgresql),
        pytest.param(an_old_redis, "redis.too_old", "Upgrade", marks=needs_redis),
        pytest.param(an_old_rabbitmq, "rabbitmq.too_old", "Upgrade", marks=needs_rabbitmq),
    ],
)
def test_what_is_wrong_with_machine_settings_or_a_server_is_found_with_its_remedy(
    monkeypatch, seed, code, remedy
) -> None:
    seed(monkeypatch)

    assert remedy in found(code).remedy


def test_dead_letters_are_worth_a_note(new_job) -> None:
    now = timezone.now()
    execution = recorded(new_job(HOURLY), wake_at=None, status=Status.FAILED, finished_at=now)
    get_broker().bury([Message(execution.task, (execution.pk,), execution.priority)])

    one = found("work.dead_letters")
    assert one.level is Level.NOTE and one.fact.startswith("1 ") and "/dead-letters" in one.remedy


def test_a_check_that_fails_is_a_finding_and_stops_no_other(monkeypatch) -> None:
    Presence.objects.filter(role="poller").delete()
    monkeypatch.setattr(trust, "MOST", "nonsense")

    assert {"doctor.check_failed", "work.no_poller"} <= codes()


def call(*options: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("doctor", *options, stdout=out)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_the_exit_status_says_how_bad_it_is(sound_machine) -> None:
    assert call()[0] == 0

    appear("executor", timezone.now(), version="2")
    assert call()[0] == 1

    Presence.objects.filter(role="poller").delete()
    status, told = call()
    assert status == 2
    assert "No poller is running" in told and "→ Start one: manage.py run_poller." in told


def test_programs_are_told_in_json() -> None:
    Presence.objects.filter(role="poller").delete()

    status, told = call("--json")

    document = json.loads(told)
    assert document["status"] == status == 2
    [one] = [one for one in document["findings"] if one["code"] == "work.no_poller"]
    assert one["level"] == "error" and set(one) == {"level", "code", "fact", "remedy", "repair"}
