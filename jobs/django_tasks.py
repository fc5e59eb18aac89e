"""A backend for django.tasks: functions decorated with its `@task` are run by Punctual.

    TASKS = {"default": {"BACKEND": "jobs.django_tasks.PunctualBackend"}}

What is enqueued becomes a job, in the transaction that enqueues it: rolled back, it never was. Each queue is a task
of its own, `django.<queue>`, which executors can be told to serve or not. Both Django 6 and the package django-tasks
will do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any
from uuid import NAMESPACE_DNS, UUID, uuid5

from django.core import signing
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.module_loading import import_string
from pydantic import BaseModel, ConfigDict, model_validator

try:  # Django 6 has it; for earlier ones there is a package
    from django.tasks import signals
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.utils.json import normalize_json
except ImportError:
    try:
        from django_tasks import signals
        from django_tasks.backends.base import BaseTaskBackend
        from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
        from django_tasks.exceptions import TaskResultDoesNotExist
        from django_tasks.utils import normalize_json
    except ImportError:
        raise ImproperlyConfigured(
            "PunctualBackend needs Django 6 or the package django-tasks. Install it, or unset DJANGO_TASKS_QUEUES."
        ) from None

from accounts.models import Tenant
from execution import registry as tasks
from execution.registry import Registry, Run
from jobs import services
from jobs.limits import Limits
from jobs.models import Attempt, Execution, Job
from jobs.services import NewJob
from jobs.states import JobStatus, Priority, Status

PREFIX = "django."
OWN_TENANT = uuid5(NAMESPACE_DNS, "django.tasks")
OPTIONS = {"tenant", "max_retries", "retry_delay", "time_limit"}
STATUSES = {
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.COMPLETED: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,
    Status.SKIPPED: TaskResultStatus.FAILED,
}
_seal = signing.Signer(salt="jobs.django_tasks")


class Call(BaseModel):
    """A call of a decorated function.

    These functions were not written for strangers. The seal shows that `enqueue` has made the call, and not whoever
    may create jobs over the API.
    """

    model_config = ConfigDict(extra="forbid")

    function: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    seal: str

    @model_validator(mode="after")
    def _is_sealed(self) -> Call:
        try:
            _seal.unsign(f"{self.function}{_seal.sep}{self.seal}")
        except signing.BadSignature:
            raise ValueError(
                "the seal does not fit the function. Only code may make such calls, with enqueue()."
            ) from None
        return self


class PunctualBackend(BaseTaskBackend):
    """OPTIONS may have `tenant` (the id of the one whose jobs they are), `max_retries`, `retry_delay`, `time_limit`."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        if unknown := sorted(self.options.keys() - OPTIONS):
            raise ImproperlyConfigured(
                f"DJANGO_TASKS_OPTIONS has the unknown option {unknown[0]!r}. Known: {', '.join(sorted(OPTIONS))}."
            )

    @cached_property
    def tenant(self) -> Tenant:
        if wanted := self.options.get("tenant"):
            return Tenant.objects.get(pk=wanted)
        return Tenant.objects.get_or_create(pk=OWN_TENANT, defaults={"name": "django.tasks"})[0]

    def enqueue(self, task: Task, args: Any, kwargs: Any) -> TaskResult:
        self.validate_task(task)
        function = task.module_path
        call = {
            "function": function,
            "args": normalize_json(list(args)),
            "kwargs": normalize_json(dict(kwargs)),
            "seal": _seal.signature(function),
        }
        later = task.run_after is not None and task.run_after > timezone.now()
        wanted = NewJob(
            PREFIX + task.queue_name,
            call,
            {"type": "once", "run_at": task.run_after.isoformat()} if later else None,
            name=task.name[:100],
            priority=_priority(task.priority),
            max_retries=self.options.get("max_retries"),
            retry_delay=self.options.get("retry_delay"),
            time_limit=self.options.get("time_limit"),
        )
        job = services.create_job(wanted, tenant=self.tenant, actor=None)
        result = self._result(job, None, task)
        signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        try:
            job = Job.objects.get(pk=UUID(str(result_id)), tenant=self.tenant, task__startswith=PREFIX)
        except (ValueError, Job.DoesNotExist):
            raise TaskResultDoesNotExist(result_id) from None
        execution = job.executions.prefetch_related("attempts").order_by("due_at").first()
        return self._result(job, execution, function_named(job.payload["function"]))

    def _result(self, job: Job, execution: Execution | None, task: Task) -> TaskResult:
        attempts = list(execution.attempts.all()) if execution else []
        started = [one.started_at for one in attempts if one.started_at]
        result = TaskResult(
            task=task,
            id=str(job.pk),
            status=_status(job, execution),
            enqueued_at=job.created_at,
            started_at=min(started, default=execution.started_at if execution else None),
            last_attempted_at=execution.started_at if execution else None,
            finished_at=execution.finished_at if execution else None,
            args=job.payload["args"],
            kwargs=job.payload["kwargs"],
            backend=self.alias,
            errors=[_error(one) for one in attempts],
            worker_ids=[one.worker for one in attempts] + _current_worker(execution),
        )
        object.__setattr__(result, "_return_value", execution.result if execution else None)
        return result


def register(queues: Collection[str], registry: Registry = tasks.registry) -> None:
    """Have executors serve these queues."""
    for queue in queues:
        # The seal is a secret: with it, a job could call the same function with other arguments.
        registry.add(tasks.Task(PREFIX + queue, run_call, Call, Limits(), secrets=frozenset({"seal"})))


def queues_of(configured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The queues of those of Django's `TASKS` that name this backend."""
    ours = f"{PunctualBackend.__module__}.{PunctualBackend.__qualname__}"
    return sorted(
        {queue for one in configured.values() if one.get("BACKEND") == ours for queue in one.get("QUEUES", ["default"])}
    )


def run_call(call: Call, run: Run) -> Any:
    """The handler of every queue: call the function, as it was asked for."""
    task = function_named(call.function)
    backend = task.get_backend()
    result = backend.get_result(str(Execution.objects.only("job_id").get(pk=run.execution_id).job_id))
    signals.task_started.send(type(backend), task_result=result)
    context = [TaskContext(task_result=result)] if task.takes_context else []
    answer = normalize_json(task.call(*context, *call.args, **call.kwargs))
    for name, value in (
        ("status", TaskResultStatus.SUCCESSFUL),
        ("_return_value", answer),
        ("finished_at", timezone.now()),
    ):
        object.__setattr__(result, name, value)
    signals.task_finished.send(type(backend), task_result=result)
    return answer


def function_named(path: str) -> Task:
    """The decorated function at this path. Whoever calls this knows that the path is one of ours."""
    found = import_string(path)
    if not isinstance(found, Task):
        raise TypeError(f"{path} is not decorated with django.tasks' @task any more.")
    return found


def _status(job: Job, execution: Execution | None) -> TaskResultStatus:
    if execution is None:
        return TaskResultStatus.FAILED if job.status == JobStatus.CANCELLED else TaskResultStatus.READY
    return STATUSES.get(Status(execution.status), TaskResultStatus.READY)


def _priority(number: int) -> Priority:
    """From Django's -100 to 100."""
    return Priority.NORMAL if number == 0 else Priority.HIGH if number > 0 else Priority.LOW


def _current_worker(execution: Execution | None) -> list[str]:
    """Who runs it, or has completed it: other attempts have a row of their own."""
    going = execution is not None and execution.status in (Status.RUNNING, Status.COMPLETED)
    return [execution.worker] if going and execution else []


def _error(attempt: Attempt) -> TaskError:
    """With the full name of the exception's class, which a traceback ends with; an error in one line has less of it."""
    name = attempt.error.partition(":")[0]
    found = re.findall(rf"^((?:\w+\.)*{re.escape(name)})(?::|$)", attempt.traceback, re.MULTILINE)
    path = found[-1] if found else name
    return TaskError(
        exception_class_path=path if "." in path else f"builtins.{path}",
        traceback=attempt.traceback,
    )
