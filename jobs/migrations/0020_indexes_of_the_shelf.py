"""The indexes of those columns take the place of others. Nobody waits while they are made, but where there are partitions."""

import jobs.states
from django.db import migrations, models

WINDOW = 20_000  # rows a transaction
NEXT = "SELECT id FROM jobs_execution WHERE id > %s ORDER BY id LIMIT 1 OFFSET %s"
SHELVE = """
    UPDATE jobs_execution SET status = status WHERE id > %s AND id <= %s AND status <> 'COMPLETED'
    AND (shelf IS NULL OR look_at IS DISTINCT FROM wake_at)
"""
FIRST, LAST = "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"


def beside_others(schema_editor):
    """What has PostgreSQL make or drop an index while rows are written; a partitioned table cannot have that."""
    if schema_editor.connection.vendor != "postgresql":
        return {}
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT relkind = 'r' FROM pg_class WHERE oid = 'jobs_execution'::regclass")
        return {"concurrently": cursor.fetchone()[0]}


class Add(migrations.AddIndex):
    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        schema_editor.add_index(model, self.index, **beside_others(schema_editor))


class Remove(migrations.RemoveIndex):
    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = from_state.apps.get_model(app_label, self.model_name)
        index = from_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        schema_editor.remove_index(model, index, **beside_others(schema_editor))


def shelve(apps, schema_editor):
    """Have the trigger see to what was there before it, some at a time."""
    if schema_editor.connection.vendor != "postgresql":
        return
    begin = FIRST
    with schema_editor.connection.cursor() as cursor:
        while begin != LAST:
            cursor.execute(NEXT, [begin, WINDOW])
            [end] = cursor.fetchone() or [LAST]
            cursor.execute(SHELVE, [begin, end])
            begin = str(end)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0019_on_the_shelf")]

    operations = [
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("discarded_at", None), ("shelf", jobs.states.Status["FAILED"])),
                fields=["tenant", "-id"],
                name="shelf_dead",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("discarded_at", None), ("shelf", jobs.states.Status["FAILED"])),
                fields=["tenant", "fingerprint", "-id"],
                include=("task", "failed_at"),
                name="shelf_dead_by_cause",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("discarded_at", None), ("shelf", jobs.states.Status["FAILED"])),
                fields=["failed_at"],
                name="shelf_dead_by_time",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("shelf", jobs.states.Status["FAILED"])),
                fields=["tenant", "-id"],
                name="shelf_failed",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("shelf", jobs.states.Status["SKIPPED"])),
                fields=["tenant", "-id"],
                name="shelf_skipped",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("shelf", jobs.states.Status["CANCELLED"])),
                fields=["tenant", "-id"],
                name="shelf_cancelled",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("shelf", jobs.states.Status["RETRYING"])),
                fields=["tenant", "-id"],
                name="shelf_retrying",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="shelf_to_look_at"
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(
                    (
                        "shelf__in",
                        [jobs.states.Status["QUEUED"], jobs.states.Status["RETRYING"], jobs.states.Status["SCHEDULED"]],
                    ),
                    ("waits_for", None),
                ),
                fields=["task", "-priority", "not_before"],
                name="shelf_ready",
            ),
        ),
        Add(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("shelf", jobs.states.Status["SCHEDULED"]), ("waits_for__isnull", False)),
                fields=["job", "waits_for"],
                name="shelf_in_line",
            ),
        ),
        migrations.RunPython(shelve, migrations.RunPython.noop, elidable=False),
        Remove(
            model_name="execution",
            name="executions_dead",
        ),
        Remove(
            model_name="execution",
            name="executions_to_wake",
        ),
        Remove(
            model_name="execution",
            name="executions_ready",
        ),
        Remove(
            model_name="execution",
            name="executions_in_line",
        ),
        Remove(
            model_name="execution",
            name="executions_dead_by_cause",
        ),
        Remove(
            model_name="execution",
            name="executions_failed",
        ),
        Remove(
            model_name="execution",
            name="executions_skipped",
        ),
        Remove(
            model_name="execution",
            name="executions_cancelled",
        ),
        Remove(
            model_name="execution",
            name="executions_retrying",
        ),
        Remove(
            model_name="execution",
            name="executions_dead_by_time",
        ),
    ]
