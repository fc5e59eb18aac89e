"""The page of dead letters, by what killed them: to run them again, as they are or with another payload, or let them go."""

from __future__ import annotations

import json
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from execution.registry import InvalidPayload, UnknownTask
from jobs import dead_letters
from jobs.dashboard.windows import done, must_change, shown, window
from jobs.documents import UnstorableDocument, check_document
from jobs.models import Execution
from jobs.stats.causes import Cause, causes


@window
def dead_letter_list(request: HttpRequest) -> HttpResponse:
    scope = request.viewer.scope
    found = causes(scope)
    context = {
        "causes": found,
        "count": sum(cause.count for cause in found),
        "may_change": request.viewer.may_change(scope),
        "page": "dead-letters",
    }
    return shown(request, "dashboard/dead_letters.html", context)


@require_POST
@window
def act_on_cause(request: HttpRequest) -> HttpResponse:
    """All that died of what the named one died of."""
    scope = request.viewer.scope
    must_change(request, scope)
    cause = _cause_of(request)
    if cause is None:
        messages.error(request, "Nothing is dead of that any more.")
        return redirect("dead-letters")
    letters = Execution.objects.filter(pk__in=cause.executions)
    if request.POST.get("act") == "discard":
        count = dead_letters.discard(letters, actor=request.user, reason="discarded on the dashboard")
        return done(request, f"Discarded {count}. They stay in the history.", "dead-letters")
    count = dead_letters.replay(letters, actor=request.user)
    return done(request, f"Replayed {count}.", "dead-letters")


@require_POST
@window
def replay_edited(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One dead letter, with the payload that a person has written."""
    execution = request.viewer.execution(pk)
    must_change(request, execution.tenant)
    try:
        payload = json.loads(request.POST.get("payload", ""))
        check_document(payload)
        count = dead_letters.replay(Execution.objects.filter(pk=pk), actor=request.user, payload=payload)
    except json.JSONDecodeError as error:
        messages.error(request, f"The payload is no JSON: {error}.")
    except (UnstorableDocument, InvalidPayload, UnknownTask) as error:
        messages.error(request, f"The payload was refused: {error}")
    else:
        if count:
            return done(request, "It runs again with its new payload.", "run", pk)
        messages.error(request, "It is no dead letter any more, or its job has ended.")
    return redirect("run", pk)


def _cause_of(request: HttpRequest) -> Cause | None:
    named = request.POST.get("latest", "")
    return next((cause for cause in causes(request.viewer.scope) if named in map(str, cause.executions)), None)
