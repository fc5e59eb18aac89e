"""Migrations expand what the previous release works with, and take nothing from it."""

from __future__ import annotations

import pytest
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.models import Q

from tests.expanding import demanded, released, steps_since, taken_away
from tests.previous import previous

BEFORE = released(previous())
STEPS = list(steps_since(previous()))


def after(operation: Operation):
    state = BEFORE.clone()
    operation.state_forwards("jobs", state)
    return state


def test_there_is_a_migration_since_then_or_nothing_would_be_looked_at() -> None:
    assert len(STEPS) > 5


@pytest.mark.parametrize(("name", "state"), STEPS, ids=[name for name, _ in STEPS])
def test_no_migration_takes_away_what_the_previous_release_uses(name, state) -> None:
    assert taken_away(BEFORE, state) == []


def test_the_previous_release_can_write_to_every_table_it_knows() -> None:
    assert demanded(BEFORE, STEPS[-1][1]) == []


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        (migrations.RemoveField("job", "misfire"), "jobs.job.misfire is gone"),
        (migrations.RenameField("execution", "wake_at", "woken_at"), "jobs.execution.wake_at is gone"),
        (migrations.DeleteModel("Attempt"), "jobs.attempt is gone"),
        (migrations.RenameModel("AuditEvent", "Event"), "jobs.auditevent is gone"),
        (migrations.AlterModelTable("Attempt", "attempts"), "jobs.attempt is gone"),
        (migrations.AlterField("job", "next_run_at", models.DateTimeField()), "next_run_at may no longer be empty"),
        (migrations.AlterField("job", "name", models.CharField(max_length=20)), "no longer holds"),
        (migrations.AlterField("execution", "attempt", models.CharField(max_length=20)), "no longer holds"),
    ],
)
def test_what_the_previous_release_would_miss_is_refused(operation, complaint) -> None:
    [told] = taken_away(BEFORE, after(operation))

    assert complaint in told


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        (migrations.AddField("job", "colour", models.CharField(max_length=9, default="")), "jobs.job.colour has to be"),
        (
            migrations.AddConstraint("job", models.CheckConstraint(name="short", condition=Q(name__lt="zz"))),
            "short",
        ),
    ],
)
def test_what_the_previous_release_could_not_write_is_refused(operation, complaint) -> None:
    [told] = demanded(BEFORE, after(operation))

    assert complaint in told


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("job", "colour", models.CharField(max_length=9, null=True)),
        migrations.AddField("job", "colour", models.CharField(max_length=9, default="", db_default="")),
        migrations.AlterField("job", "name", models.CharField(max_length=500)),
        migrations.CreateModel("Colour", [("id", models.BigAutoField(primary_key=True)), ("name", models.TextField())]),
        migrations.AddIndex("job", models.Index(fields=["name"], name="jobs_by_name")),
    ],
)
def test_what_only_adds_is_allowed(operation) -> None:
    assert taken_away(BEFORE, after(operation)) == demanded(BEFORE, after(operation)) == []
