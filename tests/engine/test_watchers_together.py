"""Any number of watchers, and who works beside them."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from jobs.alerts.rules import delete_rule, update_rule
from jobs.models import AlertRule, Incident, Mention, Notice, Watch
from jobs.states import Status
from tests.alerting import HOURLY, SECOND, Watched, due_at, execution_of, rule_of
from tests.whole.processes import eventually


def test_any_number_of_watchers_tell_everything_once(watched, new_job, at_rest, team) -> None:
    rule_of(team)
    for _ in range(20):
        due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    job = at_rest()
    Watched().look()
    for number in range(5):
        execution_of(job, watched.time, Status.FAILED, finished_at=timezone.now(), error=f"E: {number}")
    others = [Watched() for _ in range(4)]
    barrier = Barrier(len(others))
    errors: list[BaseException] = []

    def race(one: Watched) -> None:
        barrier.wait()
        try:
            for _ in range(5):
                one.watcher.tick()
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=race, args=[one]) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not errors
    assert Incident.objects.of_kind("missed").count() == 20
    assert Incident.objects.get(kind="failed").count == 5
    mentioned = [line["id"] for notice in Notice.objects.all() for line in notice.content["incidents"]]
    assert len(mentioned) == len(set(mentioned))


def test_a_look_that_fails_half_way_has_not_happened(watched, new_job, at_rest, team, monkeypatch) -> None:
    rule_of(team)
    watched.look()
    due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    execution_of(at_rest(), watched.time, Status.FAILED, finished_at=watched.time + SECOND, error="E: no")

    def die(now: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr("jobs.alerts.watcher.compose", die)
        with pytest.raises(SystemExit):
            watched.look(after=5 * SECOND)
    assert not Incident.objects.exists()

    [notice] = watched.look(after=5 * SECOND)
    assert notice.content["counts"] == {"missed": 1, "failed": 1}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="one writer at a time")
def test_one_who_looks_keeps_nobody_waiting(watched) -> None:
    watched.look()
    looked: list[bool] = []

    def look() -> None:
        Watched().watcher.tick()
        looked.append(True)
        connections.close_all()

    with transaction.atomic():
        assert Watch.objects.hold() is not None
        thread = Thread(target=look)
        thread.start()
        thread.join(30)

    assert looked == [True]


def switch_off(rule: AlertRule) -> None:
    update_rule(rule, {"enabled": False}, actor=None)


def delete(rule: AlertRule) -> None:
    delete_rule(rule, actor=None)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="one writer at a time")
@pytest.mark.parametrize("act", [switch_off, delete])
def test_a_rule_that_is_to_go_waits_for_the_look_before_it_holds_anything(act, watched, new_job, team) -> None:
    rule = rule_of(team)
    due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    watched.look()

    def end() -> None:
        act(rule)
        connections.close_all()

    def somebody_waits_for_us() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            return cursor.fetchone() is not None

    thread = Thread(target=end)
    with transaction.atomic():
        assert Watch.objects.hold() is not None
        thread.start()
        eventually(somebody_waits_for_us)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '30s'")
        rule.mentions.update(tell_at=watched.time)  # as a look does, in its order
        AlertRule.objects.filter(pk=rule.pk).update(told_at=watched.time)
    thread.join(30)

    assert not AlertRule.objects.enabled().exists()
    assert not Mention.objects.exclude(tell_at=None).exists()
