"""Executions are found by columns of their own, which do not change on the way that nearly all of them take."""

import jobs.models.cohort
import jobs.states
from django.db import migrations, models

TABLE = "jobs_execution"
STRAIGHT = "(NEW.fresh AND NEW.status IN ('SCHEDULED', 'RUNNING'))"
KEPT = {
    "shelf": f"CASE WHEN {STRAIGHT} OR NEW.status = 'COMPLETED' THEN NULL ELSE NEW.status END",
    "look_at": f"CASE WHEN {STRAIGHT} THEN NULL ELSE NEW.wake_at END",
    "failed_at": "CASE WHEN NEW.status = 'FAILED' THEN NEW.finished_at END",
}
DIFFER = " OR ".join(f"NEW.{column} IS DISTINCT FROM {rule}" for column, rule in KEPT.items())
FUNCTION = f"""
    CREATE FUNCTION jobs_shelve() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {" ".join(f"NEW.{column} := {rule};" for column, rule in KEPT.items())}
        RETURN NEW;
    END $$
"""
# Asked of every row, and called for few: on the straight way none of the three changes.
TRIGGER = f"""
    CREATE TRIGGER shelve BEFORE INSERT OR UPDATE ON {TABLE} FOR EACH ROW WHEN ({DIFFER})
    EXECUTE FUNCTION jobs_shelve()
"""
# Executions may be in partitions, of which each has a setting of its own.
HOLDING_ROWS = """
    SELECT relid::regclass::text FROM pg_partition_tree('jobs_execution') WHERE isleaf
    UNION SELECT 'jobs_execution' WHERE NOT EXISTS (SELECT FROM pg_partition_tree('jobs_execution') WHERE isleaf)
"""


class AddKept(migrations.AddField):
    """A generated column; but PostgreSQL would write all rows anew to add one, and everybody would wait for it.

    There it is an ordinary column, which a trigger keeps, whatever release writes to the row.
    """

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        kind = self.field.output_field.db_type(schema_editor.connection)
        schema_editor.execute(f"ALTER TABLE {TABLE} ADD COLUMN {self.name} {kind} NULL")


def keep(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(FUNCTION)
    schema_editor.execute(TRIGGER)
    schema_editor.execute("ALTER TABLE jobs_cohort ALTER COLUMN executions SET STORAGE EXTERNAL")
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(HOLDING_ROWS)
        for (table,) in cursor.fetchall():
            # Room in each page for further versions of its rows: beside the first, a version is written to no index.
            cursor.execute(f"ALTER TABLE {table} SET (fillfactor = 50)")


def let_go(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP TRIGGER shelve ON {TABLE}")
        schema_editor.execute("DROP FUNCTION jobs_shelve()")


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_defaults_for_older_releases"),
        ("jobs", "0018_open_incidents"),
    ]

    operations = [
        migrations.CreateModel(
            name="Cohort",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("look_at", models.DateTimeField(db_index=True)),
                ("executions", jobs.models.cohort.IdsField()),
            ],
        ),
        migrations.AddField(
            model_name="execution",
            name="fresh",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        AddKept(
            model_name="execution",
            name="shelf",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(
                        models.Q(
                            models.Q(
                                ("fresh", True),
                                ("status__in", (jobs.states.Status["SCHEDULED"], jobs.states.Status["RUNNING"])),
                            ),
                            ("status", jobs.states.Status["COMPLETED"]),
                            _connector="OR",
                        ),
                        then=models.Value(None),
                    ),
                    default=models.F("status"),
                ),
                output_field=models.CharField(max_length=10, null=True),
            ),
        ),
        AddKept(
            model_name="execution",
            name="look_at",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(
                        models.Q(
                            ("fresh", True),
                            ("status__in", (jobs.states.Status["SCHEDULED"], jobs.states.Status["RUNNING"])),
                        ),
                        then=models.Value(None),
                    ),
                    default=models.F("wake_at"),
                ),
                output_field=models.DateTimeField(null=True),
            ),
        ),
        AddKept(
            model_name="execution",
            name="failed_at",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(models.When(status=jobs.states.Status["FAILED"], then=models.F("finished_at"))),
                output_field=models.DateTimeField(null=True),
            ),
        ),
        migrations.RunPython(keep, let_go, elidable=False),
    ]
