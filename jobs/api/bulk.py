"""Many jobs in one call, each with its own outcome: a bad one does not keep the good ones from being made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rest_framework.exceptions import ValidationError

from accounts.models import Tenant, User
from jobs import services
from jobs.api.keys import FIELD, KeyField
from jobs.api.parsing import refuse_unstorable
from jobs.api.problems import faults_of
from jobs.api.serializers import JOB, JOB_ROW
from jobs.idempotency import Errors
from jobs.models import Job

MOST_JOBS = 1000  # a call: about what fits the body's own limit, and what the database takes in one gulp
CREATED, INVALID = "created", "invalid"
KEY = KeyField()

Outcome = dict[str, Any]


def read_items(body: Any) -> tuple[list[Any], str | None]:
    """The jobs that a body asks for, as they came, and its key; or what is wrong with the body as a whole."""
    if not isinstance(body, dict) or not {"jobs"} <= set(body) <= {"jobs", FIELD} or not isinstance(body["jobs"], list):
        raise ValidationError(
            {"jobs": [f'Send {{"jobs": [ … ]}}, a list of 1 to {MOST_JOBS:,} jobs, and nothing else but {FIELD}.']}
        )
    items = body["jobs"]
    if not 1 <= len(items) <= MOST_JOBS:
        raise ValidationError(
            {"jobs": [f"{len(items):,} jobs. Allowed are 1 to {MOST_JOBS:,} a call: split the rest over more calls."]}
        )
    return items, _key_in(body)


class Read(NamedTuple):
    """Items as they were read: jobs ready to be stored, and what is wrong with the others."""

    places: list[int]  # of the jobs, among the items
    prepared: services.Prepared
    errors: dict[int, Errors]


def read_each(items: list[Any], *, tenant: Tenant, actor: User) -> Read:
    """Read the items. Nothing is stored yet."""
    wanted: dict[int, services.NewJob] = {}
    errors: dict[int, Errors] = {}
    for index, item in enumerate(items):
        try:
            wanted[index] = _read(item)
        except ValidationError as error:
            errors[index] = _errors(error)
    return Read(list(wanted), services.prepare_jobs(list(wanted.values()), tenant=tenant, actor=actor), errors)


def create_each(read: Read) -> list[Job | Errors]:
    """Create the jobs that can be created, and say of every item what became of it."""
    made: dict[int, Job | Errors] = dict(read.errors)
    for index, outcome in zip(read.places, services.store_jobs(read.prepared), strict=True):
        made[index] = outcome if isinstance(outcome, Job) else _errors(outcome)
    return [made[index] for index in range(len(made))]


def told(made: Sequence[Job | Errors]) -> Outcome:
    """What became of each item, as the answer has it."""
    results = [
        {"index": index, "status": CREATED, "job": JOB_ROW.to_representation(one)}
        if isinstance(one, Job)
        else {"index": index, "status": INVALID, "errors": one}
        for index, one in enumerate(made)
    ]
    created = sum(result["status"] == CREATED for result in results)
    return {"results": results, "created": created, "invalid": len(results) - created}


def _key_in(body: dict) -> str | None:
    if FIELD not in body:
        return None
    try:
        return KEY.run_validation(body[FIELD])
    except ValidationError as error:
        raise ValidationError({FIELD: error.detail}) from None


def _read(item: Any) -> services.NewJob:
    if not isinstance(item, dict):
        raise ValidationError({"job": ['must be a JSON object, such as {"task": …, "payload": …}.']})
    refuse_unstorable(item, called="job")
    return services.NewJob(**JOB.read(item))


def _errors(error: Exception) -> Errors:
    errors: Errors = {}
    for fault in faults_of(error):
        field, message = fault["field"], fault["message"]
        errors[field] = f"{errors[field]} {message}" if field in errors else message
    return errors
