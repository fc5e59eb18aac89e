"""Who is at work, and on what: the executions that workers hold, by worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from jobs.admin.permissions import require
from jobs.clock import database_now
from jobs.models import Execution

MOST_HELD = 1_000  # executions looked at


@dataclass
class Worker:
    name: str
    held: list[Execution] = field(default_factory=list)

    @property
    def since(self) -> datetime:
        return min(one.started_at for one in self.held)

    @property
    def until(self) -> datetime:
        """When the first of its leases ends, unless it is heard of again."""
        return min(one.wake_at for one in self.held)


def workers(request: HttpRequest) -> HttpResponse:
    require(request, "jobs.view_execution")
    now = database_now()
    rows = Execution.objects.held().select_related("job").defer("payload", "result", "job__payload")
    known: dict[str, Worker] = {}
    found = list(rows.order_by("wake_at")[: MOST_HELD + 1])
    for one in found[:MOST_HELD]:
        known.setdefault(one.worker, Worker(one.worker)).held.append(one)
    context = {
        **admin.site.each_context(request),
        "title": "Workers",
        "workers": sorted(known.values(), key=lambda worker: worker.name),
        "running": min(len(found), MOST_HELD),
        "more": len(found) > MOST_HELD,
        "now": now,
    }
    return TemplateResponse(request, "admin/punctual/workers.html", context)
