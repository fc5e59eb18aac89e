"""Many jobs in one call, each with its own outcome: a bad one does not keep the good ones from being made."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ValidationError

from accounts.models import Tenant, User
from jobs import services
from jobs.api.parsing import refuse_unstorable
from jobs.api.problems import faults_of
from jobs.api.serializers import JOB
from jobs.models import Job

MOST_JOBS = 1000  # a call: about what fits the body's own limit, and what the database takes in one gulp
CREATED, INVALID = "created", "invalid"

Outcome = dict[str, Any]


def read_items(body: Any) -> list[Any]:
    """The jobs that a body asks for, as they came; or what is wrong with the body as a whole."""
    if not isinstance(body, dict) or set(body) != {"jobs"} or not isinstance(body["jobs"], list):
        raise ValidationError(
            {"jobs": [f'Send {{"jobs": [ … ]}}, a list of 1 to {MOST_JOBS:,} jobs, and nothing else.']}
        )
    items = body["jobs"]
    if not 1 <= len(items) <= MOST_JOBS:
        raise ValidationError(
            {"jobs": [f"{len(items):,} jobs. Allowed are 1 to {MOST_JOBS:,} a call: split the rest over more calls."]}
        )
    return items


def create_each(items: list[Any], *, tenant: Tenant, actor: User) -> Outcome:
    """Create the jobs that can be created, and say of every item what became of it."""
    wanted: dict[int, services.NewJob] = {}
    results: dict[int, Outcome] = {}
    for index, item in enumerate(items):
        try:
            wanted[index] = _read(item)
        except ValidationError as error:
            results[index] = _invalid(index, error)
    outcomes = services.create_jobs(list(wanted.values()), tenant=tenant, actor=actor)
    for index, outcome in zip(wanted, outcomes, strict=True):
        if isinstance(outcome, Job):
            results[index] = {"index": index, "status": CREATED, "job": JOB.to_representation(outcome)}
        else:
            results[index] = _invalid(index, outcome)
    created = sum(result["status"] == CREATED for result in results.values())
    return {
        "results": [results[index] for index in range(len(items))],
        "created": created,
        "invalid": len(items) - created,
    }


def _read(item: Any) -> services.NewJob:
    if not isinstance(item, dict):
        raise ValidationError({"job": ['must be a JSON object, such as {"task": …, "payload": …}.']})
    refuse_unstorable(item, called="job")
    return services.NewJob(**JOB.read(item))


def _invalid(index: int, error: Exception) -> Outcome:
    errors: dict[str, str] = {}
    for fault in faults_of(error):
        field, message = fault["field"], fault["message"]
        errors[field] = f"{errors[field]} {message}" if field in errors else message
    return {"index": index, "status": INVALID, "errors": errors}
