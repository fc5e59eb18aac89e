"""Dead letters by what went wrong: a hundred failures of one cause are one thing to decide about."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from jobs.admin.acts import MOST_AT_ONCE
from jobs.admin.execution_acts import DISCARD, REPLAY
from jobs.admin.lists import identifier
from jobs.admin.permissions import OPERATE_EXECUTIONS, require
from jobs.models import Execution

LOOKED_AT = 5_000  # dead letters, the latest: who has more begins with these
LISTED = 20  # of a cause
READ = ("pk", "task", "error", "job_id", "job__name", "due_at", "finished_at", "attempt")


@dataclass
class CauseOfDeath:
    """Dead letters of one task that ended with one error."""

    task: str
    error: str
    count: int = 0
    jobs: set[UUID] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None
    letters: list[dict[str, Any]] = field(default_factory=list)

    @property
    def key(self) -> str:
        return blake2b(f"{self.task}\0{self.error}".encode(), digest_size=8).hexdigest()


def causes(task: str = "") -> tuple[list[CauseOfDeath], bool]:
    """The latest dead letters by task and error, the most frequent first; and whether there are more of them."""
    rows = Execution.objects.dead().order_by("-pk").values(*READ)
    if task:
        rows = rows.filter(task=task)
    found = list(rows[: LOOKED_AT + 1])
    known: dict[tuple[str, str], CauseOfDeath] = {}
    for row in found[:LOOKED_AT]:
        cause = known.setdefault((row["task"], row["error"]), CauseOfDeath(row["task"], row["error"]))
        cause.count += 1
        cause.jobs.add(row["job_id"])
        cause.last = cause.last or row["finished_at"]
        cause.first = row["finished_at"]
        if len(cause.letters) < LISTED:
            cause.letters.append(row)
    return sorted(known.values(), key=lambda cause: -cause.count), len(found) > LOOKED_AT


def dead_letters(request: HttpRequest) -> HttpResponse:
    require(request, "jobs.view_execution")
    found, more = causes()
    context = {
        **admin.site.each_context(request),
        "title": "Dead letters",
        "causes": found,
        "total": sum(cause.count for cause in found),
        "more": more,
        "looked_at": LOOKED_AT,
        "listed": LISTED,
        "may_operate": request.user.has_perm(OPERATE_EXECUTIONS),
        "act_address": reverse("admin:act_on_letters"),
    }
    return TemplateResponse(request, "admin/punctual/dead_letters.html", context)


@require_POST
def act_on_letters(request: HttpRequest) -> HttpResponse:
    """Replay or discard all of a cause, or those that were chosen of it: the same pages as for a list's actions."""
    require(request, "jobs.view_execution", OPERATE_EXECUTIONS)
    act = {one.name: one for one in (REPLAY, DISCARD)}.get(request.POST.get("act", ""))
    if act is None:
        raise Http404
    model_admin = admin.site._registry[Execution]
    return model_admin.act_on(
        request,
        act,
        _chosen(request),
        action=reverse("admin:act_on_letters"),
        back=reverse("admin:dead_letters"),
    )


def _chosen(request: HttpRequest) -> list[Execution]:
    letters = Execution.objects.dead().select_related("job").defer("payload", "result").order_by("-pk")
    ids = request.POST.getlist("_selected_action")
    if ids:
        letters = letters.filter(pk__in=[wanted for one in ids if (wanted := identifier(one))])
    elif "error" in request.POST:
        letters = letters.filter(task=request.POST.get("task", ""), error=request.POST["error"])
    else:
        return []
    return list(letters[:MOST_AT_ONCE])
