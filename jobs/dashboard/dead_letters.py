"""The page of dead letters, by what killed them: to run them again, as they are or edited, or to let them go."""

from __future__ import annotations

import json
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from execution.registry import InvalidPayload, UnknownTask
from jobs import dead_letters, services
from jobs.dashboard.windows import done, must_change, shown, window
from jobs.documents import UnstorableDocument, check_document
from jobs.states import IllegalMove


@window
def dead_letter_list(request: HttpRequest) -> HttpResponse:
    scope = request.viewer.scope
    context = {
        "causes": dead_letters.groups(scope),
        "may_change": request.viewer.may_change(scope),
        "page": "dead-letters",
    }
    return shown(request, "dashboard/dead_letters.html", context)


@require_POST
@window
def act_on_cause(request: HttpRequest) -> HttpResponse:
    """All that died of one cause, as far as a person can wait for it; what is left can be asked for again."""
    must_change(request, request.viewer.scope)
    letters = request.viewer.executions.dead().filter(
        fingerprint=request.POST.get("fingerprint") or None, task=request.POST.get("task", "")
    )
    if request.POST.get("act") == "discard":
        count = dead_letters.discard(
            letters, actor=request.user, reason="discarded on the dashboard", most=dead_letters.MOST_AT_ONCE
        )
        return done(request, f"Discarded {count:,}. They stay in the history.", "dead-letters")
    count = dead_letters.replay(letters, actor=request.user, most=dead_letters.MOST_AT_ONCE)
    return done(request, f"Replayed {count:,}.", "dead-letters")


@require_POST
@window
def replay_edited(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One dead letter, with the payload that a person has written."""
    execution = request.viewer.execution(pk)
    must_change(request, execution.tenant)
    try:
        payload = json.loads(request.POST.get("payload", ""))
        check_document(payload)
        services.retry_execution(execution, actor=request.user, payload=payload)
    except json.JSONDecodeError as error:
        messages.error(request, f"The payload is no JSON: {error}.")
    except (UnstorableDocument, InvalidPayload, UnknownTask) as error:
        messages.error(request, f"The payload was refused: {error}")
    except IllegalMove as error:
        messages.error(request, str(error))
    else:
        return done(request, "It runs again with its new payload.", "run", pk)
    return redirect("run", pk)
