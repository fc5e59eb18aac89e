"""Who is at work, and on what: the processes that say they are there, and the executions that workers hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from jobs.admin.permissions import require
from jobs.clock import database_now
from jobs.models import Execution, Presence

MOST_HELD = 1_000  # executions looked at
MOST_PRESENT = 500  # processes
UNREAD = ("payload", "result", "job__payload")


@dataclass
class Worker:
    name: str
    presence: Presence | None = None
    held: list[Execution] = field(default_factory=list)

    @property
    def role(self) -> str:
        return self.presence.role if self.presence else "executor"

    @property
    def first_lease(self) -> datetime | None:
        """When the first of its leases ends, unless it is heard of again."""
        return min((one.wake_at for one in self.held), default=None)


def workers(request: HttpRequest) -> HttpResponse:
    require(request, "jobs.view_execution")
    now = database_now()
    present = [Worker(one.name, one) for one in Presence.objects.present(now)[:MOST_PRESENT]]
    executors = {one.name: one for one in present if one.role == "executor"}
    found = list(Execution.objects.held().select_related("job").defer(*UNREAD).order_by("wake_at")[: MOST_HELD + 1])
    for one in found[:MOST_HELD]:
        # One that holds something and says nothing is just what somebody looks for here.
        executors.setdefault(one.worker, Worker(one.worker)).held.append(one)
    context = {
        **admin.site.each_context(request),
        "title": "Workers",
        "executors": sorted(executors.values(), key=lambda worker: worker.name),
        "others": [one for one in present if one.role != "executor"],
        "running": min(len(found), MOST_HELD),
        "more": len(found) > MOST_HELD,
        "now": now,
    }
    return TemplateResponse(request, "admin/punctual/workers.html", context)
