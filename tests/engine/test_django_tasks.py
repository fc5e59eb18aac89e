"""Functions of django.tasks are enqueued, delayed, retried and shown by Punctual."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from jobs import services
from jobs.django_tasks import PunctualBackend, queues_of
from jobs.models import Execution, Job
from jobs.redaction import MARK
from jobs.states import Priority, Status
from tests.callables import InvalidTask, add, add_slowly, calls, django_tasks, stumble, tell

TaskResultStatus, signals, task_backends = (
    django_tasks.TaskResultStatus,
    django_tasks.signals,
    django_tasks.task_backends,
)
TaskResultDoesNotExist = django_tasks.exceptions.TaskResultDoesNotExist
TaskResultMismatch = django_tasks.exceptions.TaskResultMismatch
PAGE = Path(__file__).parents[2] / "docs" / "django-tasks.md"


@pytest.fixture(autouse=True)
def backend() -> PunctualBackend:
    calls.clear()
    backend = task_backends["default"]
    backend.__dict__.pop("tenant", None)  # the database is emptied between tests
    return backend


def finished(system, result):
    system.run_until(lambda: result.refresh() or result.is_finished)
    return result


def test_what_is_enqueued_runs_and_its_result_is_found(system) -> None:
    enqueued = []
    signals.task_enqueued.connect(
        lambda task_result, **_: enqueued.append(task_result.id), weak=False, dispatch_uid="e"
    )

    result = add.enqueue(2, b=3)
    assert result.status == TaskResultStatus.READY and enqueued == [result.id]
    signals.task_enqueued.disconnect(dispatch_uid="e")

    finished(system, result)

    assert result.status == TaskResultStatus.SUCCESSFUL and result.return_value == 5
    assert result.args == [2] and result.kwargs == {"b": 3} and result.attempts == 1
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert add.get_result(result.id).return_value == 5
    assert Job.objects.get(pk=result.id).task == "django.default"


def test_a_coroutine_and_a_function_with_context_run_too(system) -> None:
    slow, told = add_slowly.enqueue(1, 2), tell.enqueue()

    assert finished(system, slow).return_value == 3
    assert finished(system, told).return_value == [1, told.id]
    assert Job.objects.get(pk=told.id).task == "django.mails"


def test_a_failure_is_retried_and_its_errors_are_kept(system) -> None:
    result = finished(system, stumble.enqueue(1))

    assert result.return_value == "arrived" and result.attempts == 2
    [error] = result.errors
    assert error.exception_class is LookupError and "stumbled 1 times" in error.traceback


def test_one_that_fails_for_good_has_failed_and_is_a_dead_letter(system, backend, monkeypatch) -> None:
    monkeypatch.setitem(backend.options, "max_retries", 0)

    result = finished(system, stumble.enqueue(5))

    assert result.status == TaskResultStatus.FAILED
    assert Execution.objects.dead().get().job_id == Job.objects.get().pk
    with pytest.raises(ValueError, match="failed"):
        result.return_value  # noqa: B018


def test_a_cancelled_one_has_failed(system) -> None:
    result = add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    services.cancel_job(Job.objects.get(pk=result.id), actor=None)

    result.refresh()

    assert result.status == TaskResultStatus.FAILED


def test_time_and_priority_are_the_job_s() -> None:
    later = (timezone.now() + timedelta(hours=1)).replace(microsecond=0)

    delayed = Job.objects.get(pk=add.using(run_after=later, priority=50).enqueue(1).id)
    low = Job.objects.get(pk=add.using(priority=-1, run_after=timezone.now()).enqueue(1).id)

    assert delayed.next_run_at == later and delayed.priority == Priority.HIGH
    assert low.next_run_at <= timezone.now() and low.priority == Priority.LOW


def test_what_is_rolled_back_was_never_enqueued() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        add.enqueue(1)
        raise RuntimeError

    assert not Job.objects.exists()


def test_what_is_no_json_or_no_known_queue_is_refused() -> None:
    with pytest.raises(TypeError):
        add.enqueue(object())
    with pytest.raises(InvalidTask, match="Queue 'nowhere' is not valid"):
        add.using(queue_name="nowhere")
    with pytest.raises(ImproperlyConfigured, match="'retrys'"):
        PunctualBackend("other", {"OPTIONS": {"retrys": 1}})


def test_nobody_can_call_a_function_over_the_api(api) -> None:
    for payload in ({"function": "os.system", "args": ["true"], "seal": "x:y"}, {"function": "x", "seal": ""}):
        refused = api.post("/api/v1/jobs", {"task": "django.default", "payload": payload})
        assert refused.status_code == 400 and "seal" in refused.json()["detail"]


def test_nobody_who_reads_a_call_can_make_another_of_it(api, team, backend) -> None:
    backend.__dict__["tenant"] = team
    job = Job.objects.get(pk=add.enqueue(1).id)
    shown = api.get(f"/api/v1/jobs/{job.pk}").json()["payload"]
    assert shown["args"] == [1] and shown["seal"] == MARK

    other = shown | {"args": [2]}
    for refused in (
        api.post("/api/v1/jobs", {"task": "django.default", "payload": other}),
        api.post("/api/v1/jobs", {"task": "django.default", "payload": shown}),
        api.patch(f"/api/v1/jobs/{job.pk}", {"payload": other}),
    ):
        assert refused.status_code == 400 and "seal" in refused.json()["detail"]
    assert api.patch(f"/api/v1/jobs/{job.pk}", {"payload": shown}).status_code == 200


@pytest.mark.parametrize("unknown", ["x", "0198b0d4-0000-7000-8000-000000000000"])
def test_a_result_nobody_has_is_told_as_such(unknown) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        add.get_result(unknown)


def test_the_result_of_another_function_is_not_taken_for_its_own() -> None:
    with pytest.raises(TaskResultMismatch):
        tell.get_result(add.enqueue(1).id)


def test_only_the_queues_of_this_backend_are_served() -> None:
    ours, other = "jobs.django_tasks.PunctualBackend", "django_tasks.backends.immediate.ImmediateBackend"
    configured = {"a": {"BACKEND": ours}, "b": {"BACKEND": ours, "QUEUES": ["x", "default"]}, "c": {"BACKEND": other}}

    assert queues_of(configured) == ["default", "x"]


def test_the_page_about_it_is_true(system, tmp_path, monkeypatch) -> None:
    functions, enqueuing, afterwards = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if django_tasks.__name__ == "django.tasks":
        functions = re.sub("from django_tasks import task  # Django 6: ", "", functions)
    (tmp_path / "greetings.py").write_text(functions)
    monkeypatch.syspath_prepend(tmp_path)
    import greetings

    names = {"greet": greetings.greet}
    exec(enqueuing, names)
    system.run_until(lambda: Execution.objects.filter(status=Status.COMPLETED))
    exec(afterwards, names)

    assert Job.objects.get(pk=names["tomorrow"].id).next_run_at > timezone.now() + timedelta(hours=23)
