"""What KEDA asks the database, so that executors with long work are not taken for idle ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from jobs.models import Presence
from tests.deploying import documents

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="KEDA scales a system that has PostgreSQL"),
]
ASKED = {
    each["metadata"]["name"]: each["spec"]["triggers"][1]["metadata"]["query"]
    for each in documents("overlays/production")
    if each["kind"] == "ScaledObject"
}


def present(name: str, *, task: str, holding: int, ago: float = 0, role: str = "executor") -> None:
    now = timezone.now()
    Presence.objects.create(
        id=f"{role}:{name}",
        role=role,
        name=name,
        host=name,
        pid=1,
        version="1",
        since=now,
        seen_at=now - timedelta(seconds=ago),
        holding=holding,
        room=8,
        tasks=[task],
    )


@pytest.mark.parametrize("name", ASKED)
def test_what_executors_of_a_task_hold_is_added_up(name) -> None:
    task = name.removeprefix("executor-").replace("-", "_")
    present("one", task=task, holding=3)
    present("two", task=task, holding=4)
    present("gone", task=task, holding=8, ago=60)
    present("other", task="something_else", holding=8)

    with connection.cursor() as cursor:
        cursor.execute(ASKED[name])
        [(held,)] = cursor.fetchall()

    assert held == 7


def test_with_nobody_there_nothing_is_held() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ASKED["executor-send-email"])
        [(held,)] = cursor.fetchall()

    assert held == 0
