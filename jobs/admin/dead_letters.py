"""Dead letters by what went wrong: a hundred failures of one cause are one thing to decide about."""

from __future__ import annotations

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from jobs import dead_letters as letters
from jobs.admin.acts import MOST_AT_ONCE
from jobs.admin.execution_acts import DISCARD, REPLAY
from jobs.admin.lists import identifier
from jobs.admin.permissions import OPERATE_EXECUTIONS, require
from jobs.models import Execution
from jobs.models.execution import ExecutionQuerySet

LISTED = 50  # letters of the cause that is looked at
UNREAD = ("payload", "result", "job__payload")  # may be large


def dead_letters(request: HttpRequest) -> HttpResponse:
    """All causes; with `cause` and `task`, that one and its latest letters."""
    require(request, "jobs.view_execution")
    chosen = "cause" in request.GET
    groups = letters.groups(None, task=request.GET.get("task", ""))
    if chosen:
        groups = [group for group in groups if (group.fingerprint or "") == request.GET["cause"]]
    context = {
        **admin.site.each_context(request),
        "title": "Dead letters",
        "groups": groups,
        "total": sum(group.count for group in groups),
        "most": letters.MOST_GROUPS,
        "chosen": chosen,
        "letters": list(_of_cause(request.GET)[:LISTED]) if chosen else [],
        "listed": LISTED,
        "may_operate": request.user.has_perm(OPERATE_EXECUTIONS),
        "act_address": reverse("admin:act_on_letters"),
    }
    return TemplateResponse(request, "admin/punctual/dead_letters.html", context)


def act_on_letters(request: HttpRequest) -> HttpResponse:
    """Replay or discard all of a cause, or those that were chosen of it: the same pages as for a list's actions."""
    if request.method != "POST":  # reloaded by its address, or come back to after signing in
        return redirect("admin:dead_letters")
    require(request, "jobs.view_execution", OPERATE_EXECUTIONS)
    act = {one.name: one for one in (REPLAY, DISCARD)}.get(request.POST.get("act", ""))
    if act is None:
        raise Http404
    return admin.site._registry[Execution].act_on(
        request,
        act,
        _chosen(request.POST),
        action=reverse("admin:act_on_letters"),
        back=reverse("admin:dead_letters"),
    )


def _chosen(asked: QueryDict) -> list[Execution]:
    if ids := asked.getlist("_selected_action"):
        wanted = [one for one in map(identifier, ids) if one]
        found = _dead().filter(pk__in=wanted)
    elif "cause" in asked and "_chosen_only" not in asked:
        found = _of_cause(asked)
    else:
        return []
    return list(found[:MOST_AT_ONCE])


def _of_cause(asked: QueryDict) -> ExecutionQuerySet:
    return _dead().filter(fingerprint=asked["cause"] or None, task=asked.get("task", ""))


def _dead() -> ExecutionQuerySet:
    return Execution.objects.dead().select_related("job").defer(*UNREAD).order_by("-pk")
