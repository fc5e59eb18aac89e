"""Functions of django.tasks, for the tests of that backend, and the module that their `@task` comes from."""

from __future__ import annotations

try:  # as in jobs.django_tasks
    from django import tasks as django_tasks
    from django.tasks.exceptions import InvalidTask
except ImportError:
    import django_tasks
    from django_tasks.exceptions import InvalidTaskError as InvalidTask  # noqa: F401

TaskContext, task = django_tasks.TaskContext, django_tasks.task

calls: list[tuple] = []


@task
def add(a: int, b: int = 0) -> int:
    calls.append((a, b))
    return a + b


@task
async def add_slowly(a: int, b: int) -> int:
    return a + b


@task(takes_context=True, queue_name="mails")
def tell(context: TaskContext) -> list:
    return [context.attempt, context.task_result.id]


@task
def stumble(times: int) -> str:
    calls.append((times,))
    if len(calls) <= times:
        raise LookupError(f"stumbled {len(calls)} times")
    return "arrived"
