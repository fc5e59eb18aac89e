"""A job that is lived through in a moment: acts, polls and pauses at times of the test's own choice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.models import Tenant
from jobs import services
from jobs.models import Job
from jobs.services import NewJob
from scheduling.due import record_due

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
SECOND = timedelta(seconds=1)
ASKED_BY = ("jobs.services", "jobs.audit", "jobs.backfill", "jobs.api.occurrences")


class Life:
    """One job, and the clock that all acts on it go by. Nothing happens unless it is told to."""

    def __init__(self, team: Tenant, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
        self.team = team
        self.now = now
        self.job = Job()
        for module in ASKED_BY:
            monkeypatch.setattr(f"{module}.database_now", lambda: self.now)

    def create(self, schedule: dict[str, Any], **rest: Any) -> Job:
        # Nothing runs here, so that every run would find the one before it still going.
        wanted = NewJob("send_email", MAIL, schedule, **{"overlap": "allow"} | rest)
        self.job = services.create_job(wanted, tenant=self.team, actor=None)
        return self.job

    def at(self, now: datetime) -> Life:
        self.now = now
        return self

    def after(self, **time: float) -> Life:
        return self.at(self.now + timedelta(**time))

    def poll_until(self, until: datetime) -> Life:
        """Poll whenever the job is due, and on time."""
        while (due := self.row.next_run_at) is not None and due <= until:
            self.at(max(due, self.now)).poll()
        return self.at(until)

    def poll(self) -> Life:
        record_due([self.job.id], now=self.now, misfire_grace=60 * SECOND, publish_patience=SECOND)
        return self

    def pause(self) -> Life:
        services.pause_job(self.job, actor=None)
        return self

    def resume(self) -> Life:
        services.resume_job(self.job, actor=None)
        return self

    def cancel(self) -> Life:
        services.cancel_job(self.job, actor=None)
        return self

    def run_now(self) -> Life:
        services.run_job_now(self.job, actor=None)
        return self

    def change(self, **changes: Any) -> Life:
        services.update_job(self.job, changes, actor=None)
        return self

    @property
    def row(self) -> Job:
        return Job.objects.get(pk=self.job.pk)
