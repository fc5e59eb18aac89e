"""After a test that has committed, the next finds what migrations have written, and nothing else."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from jobs.models import Job
from tests import emptying


@pytest.mark.parametrize("large", [emptying.LARGE, 0], ids=["little was stored", "much was stored"])
def test_all_that_was_written_goes_and_what_migrations_wrote_stays(new_job, monkeypatch, large: int) -> None:
    monkeypatch.setattr(emptying, "LARGE", large)
    kept = {model: model.objects.count() for model in (ContentType, Permission)}
    new_job({"type": "interval", "seconds": 60})
    assert Job.objects.exists() and all(kept.values())

    emptying.empty()

    assert {model: model.objects.count() for model in kept} == kept
    assert [model for model in apps.get_models() if model not in kept and model._base_manager.exists()] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's statements end with the call")
def test_a_statement_that_a_test_left_unfinished_does_not_fail_the_tests_after_it() -> None:
    connection.ensure_connection()
    connection.connection.pgconn.send_query(b"SELECT pg_sleep(60)")

    emptying.empty()

    assert not Job.objects.exists()
