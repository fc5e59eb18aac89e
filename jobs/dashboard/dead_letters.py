"""The page of dead letters, by what killed them: to run them again, as they are or edited, or to let them go."""

from __future__ import annotations

import json
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.quota import QuotaExceeded
from execution.registry import InvalidPayload
from jobs import dead_letters, services
from jobs.dashboard.executions import page_of
from jobs.dashboard.filters import Filters
from jobs.dashboard.windows import done, form_target, must_change, shown, window
from jobs.documents import UnstorableDocument, check_document
from jobs.states import IllegalMove


@window
def dead_letter_list(request: HttpRequest) -> HttpResponse:
    scope = request.viewer.scope
    filters = Filters(request.GET, ())
    context = {
        "causes": [] if filters.faults else dead_letters.groups(scope),
        "faults": filters.faults,
        "may_change": request.viewer.may_change(scope),
        "page": "dead-letters",
    }
    return shown(request, "dashboard/dead_letters.html", context)


@form_target
def act_on_cause(request: HttpRequest) -> HttpResponse:
    """All that died of one cause, as far as a person can wait for it; what is left can be asked for again."""
    must_change(request, request.viewer.scope)
    act = request.POST.get("act")
    if act not in ("replay", "discard"):
        raise Http404
    letters = request.viewer.executions.dead().filter(
        fingerprint=request.POST.get("fingerprint") or None, task=request.POST.get("task", "")
    )
    if act == "discard":
        count = dead_letters.discard(
            letters, actor=request.user, reason="discarded on the dashboard", most=dead_letters.MOST_AT_ONCE
        )
        return done(request, f"Discarded {count:,}. Discarded executions stay in the history.", "dead-letters")
    found = letters.count()
    try:
        count = dead_letters.replay(letters, actor=request.user, most=dead_letters.MOST_AT_ONCE)
    except QuotaExceeded as error:
        messages.error(request, str(error))
        return redirect("dead-letters")
    told = f"Replayed {count:,}."
    if count < found:
        told += (
            f" {found - count:,} not replayed: the job was cancelled or deleted, the limit of "
            f"{dead_letters.MOST_AT_ONCE:,} at a time was reached, or the quota of executions a day is used up."
        )
        messages.warning(request, told)
        return redirect("dead-letters")
    return done(request, told, "dead-letters")


@window
def replay_edited(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Replay one dead letter with an edited payload; a refused one is shown again as it was typed."""
    execution = request.viewer.execution(pk)
    if request.method != "POST":  # the address of a refused payload, opened again
        return redirect("run", pk)
    must_change(request, execution.tenant)
    typed = request.POST.get("payload", "")
    try:
        payload = json.loads(typed)
        check_document(payload)
        services.retry_execution(execution, actor=request.user, payload=payload)
    except (json.JSONDecodeError, RecursionError) as error:
        return page_of(request, execution, typed=typed, faults=[f"The payload is not valid JSON: {error}."])
    except InvalidPayload as error:
        told = [f"{field or 'payload'}: {message}" for field, message in error.errors.items()]
        return page_of(request, execution, typed=typed, faults=told)
    except (UnstorableDocument, *dead_letters.REFUSALS) as error:
        return page_of(request, execution, typed=typed, faults=[str(error)])
    except IllegalMove as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    return done(request, "Replay started with the new payload.", "run", pk)
