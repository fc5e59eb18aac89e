"""The term: one of the tags of a job, or one of the words of its name."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, models
from django.db.models import F, Func, Q

from accounts.models import Tenant
from jobs.terms import LONGEST_TERM, term_of_tag

MOST_SOUGHT_ONE_BY_ONE = 3_000  # jobs: of more, some come along soon enough in any list
PAST_ALL = "\U0010ffff"  # sorts behind whatever may follow a beginning


def is_one_of(ids: models.QuerySet) -> Func:
    """Whether a row is one of those that a subquery finds, for PostgreSQL to look them up one by one.

    To it an array of unknown length is a short one. Told how many there are, it thinks a list that is read in its
    order until all are found the better way, and passes tens of thousands of rows to find some hundred.
    """
    return Func(
        F("pk"),
        ArraySubquery(ids),
        arg_joiner=" = ANY(",
        template="%(expressions)s)",
        output_field=models.BooleanField(),
    )


class JobTermQuerySet(models.QuerySet["JobTerm"]):
    def of_tag(self, tenant: Tenant, tag: str) -> JobTermQuerySet:
        return self.filter(tenant=tenant, term=term_of_tag(tag))

    def beginning(self, tenant: Tenant, beginning: str) -> JobTermQuerySet:
        """Those of words that begin so."""
        own = self.filter(tenant=tenant)
        if connection.vendor == "sqlite":  # whose LIKE knows no index, but whose texts are in the order of their bytes
            return own.filter(term__gte=beginning, term__lt=beginning + PAST_ALL)
        return own.filter(term__startswith=beginning)

    def jobs(self) -> Q:
        """Which jobs they are of, as a condition for jobs."""
        ids = self.values("job")
        many = self.order_by()[MOST_SOUGHT_ONE_BY_ONE : MOST_SOUGHT_ONE_BY_ONE + 1].exists()
        return Q(pk__in=ids) if many or connection.vendor == "sqlite" else Q(is_one_of(ids))

    def forget(self, jobs: Iterable[UUID]) -> None:
        self.filter(job__in=list(jobs)).delete()


class JobTerm(models.Model):
    """Says where a job is found, and is written when it is created or edited only. See `jobs.terms`."""

    pk = models.CompositePrimaryKey("job_id", "term")
    # No constraints: they would look up both rows for every term, and neither is ever deleted under one.
    job = models.ForeignKey("jobs.Job", models.CASCADE, related_name="terms", db_index=False, db_constraint=False)
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    term = models.CharField(max_length=LONGEST_TERM)

    objects = JobTermQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["tenant", "term", "-job"],
                name="jobs_by_term",
                opclasses=["uuid_ops", "varchar_pattern_ops", "uuid_ops"],  # beginnings, whatever the collation
            )
        ]

    def __str__(self) -> str:
        return self.term
