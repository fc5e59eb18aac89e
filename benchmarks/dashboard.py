"""The dashboard's pages, asked for in this process as a browser does each second, with nothing remembered."""

from __future__ import annotations

from functools import partial

from django.test import Client

from benchmarks.acts import Act
from benchmarks.load import tenant
from jobs.models import Execution
from jobs.stats.snapshot import Snapshots, snapshots

PASSED = "then-1"  # whose work the history is


class Dashboard:
    def __init__(self) -> None:
        self._client = Client(headers={"host": "localhost", "accept": "text/html"})
        self._client.force_login(tenant().members.get())

    def acts(self) -> list[Act]:
        latest = Execution.objects.filter(worker=PASSED).order_by("-pk").first()
        paths = {
            "overview": "/?span=1h",
            "overview of a day": "/?span=24h",
            "jobs": "/jobs",
            "jobs, searched": "/jobs?q=unheard",
            "runs": "/executions",
            "runs that failed": "/executions?status=FAILED",
            "dead letters": "/dead-letters",
            "a job": f"/jobs/{latest.job_id}",
            "a run": f"/executions/{latest.pk}",
        }
        return [Act(f"dashboard: {name}", partial(self._look, path), before=forget) for name, path in paths.items()]

    def _look(self, path: str) -> None:
        answer = self._client.get(path)
        if answer.status_code != 200:
            raise RuntimeError(f"{path} was answered with {answer.status_code}.")


def forget() -> None:
    snapshots.__dict__.update(Snapshots().__dict__)
