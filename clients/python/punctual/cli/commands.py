"""What each command does: one call, and its answer in lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import islice

from punctual.cli.options import schedule_of
from punctual.cli.showing import show_one, show_table
from punctual.client import Punctual
from punctual.models import Execution, Job

Command = Callable[[Punctual, argparse.Namespace], int]

JOB_COLUMNS = ("id", "status", "task", "name", "next_run_at")
EXECUTION_COLUMNS = ("id", "status", "task", "attempt", "due_at", "error")
ALERT_COLUMNS = ("id", "name", "channel", "job", "tag", "enabled")
INCIDENT_COLUMNS = ("kind", "title", "since", "count", "recovered_at", "error")


def run(punctual: Punctual, options: argparse.Namespace) -> int:
    return COMMANDS[options.thing, options.act](punctual, options)


def _create(punctual: Punctual, options: argparse.Namespace) -> int:
    more = {name: value for name in ("name", "priority", "tags") if (value := getattr(options, name))}
    job = punctual.jobs.create(
        options.task, options.payload, schedule=schedule_of(options), idempotency_key=options.idempotency_key, **more
    )
    show_one(job.raw, options.json)
    if not options.wait:
        return 0
    return _over(_first_run(punctual, job), options)


def _first_run(punctual: Punctual, job: Job) -> Execution:
    from punctual.waiting import await_first

    return await_first(lambda: next(punctual.jobs.executions(job.id), None), job.id)


def _run(punctual: Punctual, options: argparse.Namespace) -> int:
    execution = punctual.jobs.run(options.job)
    if options.wait:
        return _over(execution, options)
    show_one(execution.raw, options.json)
    return 0


def _over(execution: Execution, options: argparse.Namespace) -> int:
    over = execution.wait(timeout=3600)
    show_one(over.raw, options.json)
    return 0 if over.status == "COMPLETED" else 1


def _list_jobs(punctual: Punctual, options: argparse.Namespace) -> int:
    found = punctual.jobs.list(status=options.status, task=options.task, tag=options.tag, name=options.name)
    show_table(JOB_COLUMNS, (one.raw for one in islice(found, options.most)), options.json)
    return 0


def _list_executions(punctual: Punctual, options: argparse.Namespace) -> int:
    found = punctual.executions.list(status=options.status, task=options.task, job=options.job, tag=options.tag)
    show_table(EXECUTION_COLUMNS, (one.raw for one in islice(found, options.most)), options.json)
    return 0


def _on_job(act: str) -> Command:
    def command(punctual: Punctual, options: argparse.Namespace) -> int:
        told = getattr(punctual.jobs, act)(options.job)
        show_one(getattr(told, "raw", told), options.json)
        return 0

    return command


def _delete(punctual: Punctual, options: argparse.Namespace) -> int:
    punctual.jobs.delete(options.job)
    print("Deleted. Its history stays.", file=sys.stderr)
    return 0


def _on_execution(act: str) -> Command:
    def command(punctual: Punctual, options: argparse.Namespace) -> int:
        show_one(getattr(punctual.executions, act)(options.execution).raw, options.json)
        return 0

    return command


def _logs(punctual: Punctual, options: argparse.Namespace) -> int:
    show_table(("at", "level", "text"), punctual.executions.logs(options.execution), options.json)
    return 0


def _list_dead(punctual: Punctual, options: argparse.Namespace) -> int:
    show_table(("fingerprint", "count", "task", "error"), punctual.dead_letters.groups(), options.json)
    return 0


def _on_dead(act: str) -> Command:
    def command(punctual: Punctual, options: argparse.Namespace) -> int:
        if bool(options.executions) == bool(options.fingerprint):
            raise ValueError("give execution ids, or --fingerprint with one from `punctual dead-letters list`.")
        which = {name: value for name in ("executions", "fingerprint") if (value := getattr(options, name))}
        show_one(getattr(punctual.dead_letters, act)(**which), options.json)
        return 0

    return command


def _create_alert(punctual: Punctual, options: argparse.Namespace) -> int:
    more = {name: value for name in ("job", "tag", "kinds") if (value := getattr(options, name))}
    made = punctual.alerts.create(options.name, emails=options.emails or (), url=options.webhook, **more)
    show_one(made.raw, options.json)
    return 0


def _list_alerts(punctual: Punctual, options: argparse.Namespace) -> int:
    show_table(ALERT_COLUMNS, (one.raw for one in punctual.alerts.list()), options.json)
    return 0


def _on_alert(act: str) -> Command:
    def command(punctual: Punctual, options: argparse.Namespace) -> int:
        told = getattr(punctual.alerts, act)(options.alert)
        show_one(getattr(told, "raw", told), options.json)
        return 0

    return command


def _delete_alert(punctual: Punctual, options: argparse.Namespace) -> int:
    punctual.alerts.delete(options.alert)
    print("Deleted. Nobody is told by it any more.", file=sys.stderr)
    return 0


def _list_incidents(punctual: Punctual, options: argparse.Namespace) -> int:
    found = punctual.incidents.list(open=True if options.open else None, kind=options.kind, job=options.job)
    show_table(INCIDENT_COLUMNS, (one.raw for one in islice(found, options.most)), options.json)
    return 0


def _list_tasks(punctual: Punctual, options: argparse.Namespace) -> int:
    show_table(("name", "description"), punctual.tasks.list(), options.json)
    return 0


def _tail(punctual: Punctual, options: argparse.Namespace) -> int:
    from punctual.cli.tail import tail

    return tail(punctual, job=options.job, rounds=options.rounds, as_json=options.json)


COMMANDS: dict[tuple[str, str | None], Command] = {
    ("jobs", "create"): _create,
    ("jobs", "list"): _list_jobs,
    ("jobs", "show"): _on_job("get"),
    ("jobs", "run"): _run,
    ("jobs", "delete"): _delete,
    **{("jobs", act): _on_job(act) for act in ("pause", "resume", "cancel", "preview")},
    ("executions", "list"): _list_executions,
    ("executions", "show"): _on_execution("get"),
    ("executions", "logs"): _logs,
    **{("executions", act): _on_execution(act) for act in ("cancel", "retry")},
    ("dead-letters", "list"): _list_dead,
    **{("dead-letters", act): _on_dead(act) for act in ("replay", "discard")},
    ("tasks", "list"): _list_tasks,
    ("alerts", "create"): _create_alert,
    ("alerts", "list"): _list_alerts,
    ("alerts", "delete"): _delete_alert,
    **{("alerts", act): _on_alert(does) for act, does in {"show": "get", "test": "test"}.items()},
    ("incidents", "list"): _list_incidents,
    ("tail", None): _tail,
}
