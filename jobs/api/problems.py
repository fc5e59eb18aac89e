"""Every error as `application/problem+json`: what is wrong, where, and what to do.

One table says which status a domain error has; views never catch them.
"""

from __future__ import annotations

from http import HTTPStatus
from math import ceil
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from accounts.inviting import ForSomebodyElse, NoSuchInvitation
from accounts.mail_rights import MailRefused
from accounts.quota import QuotaExceeded
from accounts.registration import RegistrationRefused
from accounts.teams import LastOwner, NotAnOwner
from accounts.tenancy import MayOnlyLook, OutOfScope, UnknownTenant
from execution.registry import InvalidPayload, UnknownTask
from execution.remote_work import NotYours
from execution.uploads import UploadTooLarge
from jobs.alerts.rules import InvalidRule
from jobs.dead_letters import SeveralTasks
from jobs.idempotency import KeyInFlight, KeyReused
from jobs.images import UnreadableImage
from jobs.occurrences import InvalidWindow
from jobs.policies import InvalidPolicy
from jobs.states import ChangedMeanwhile, IllegalMove
from scheduling.recurrence import InvalidSchedule

CONTENT_TYPE = "application/problem+json"
DATABASE_AWAY = (OperationalError, InterfaceError)
SHORTLY = "1"  # seconds: longer than a request takes
RETRY_AFTER = "5"  # seconds: about what a database takes to come back

Fault = dict[str, str]


def problem(
    status: int, detail: str, errors: list[Fault] | None = None, headers: dict | None = None, **more: Any
) -> Response:
    """The answer for something that went wrong; `more` are members that only this kind of problem has."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **more,
    }
    if errors:
        body["errors"] = errors
    return Response(body, status=status, headers=headers, content_type=CONTENT_TYPE)


def problem_response(error: Exception, context: Any) -> Response | None:
    """DRF's exception handler. What it does not know is a bug, and answers 500."""
    set_rollback()
    if isinstance(error, QuotaExceeded):
        return _beyond_quota(error)
    if isinstance(error, MailRefused):
        return problem(403, str(error))
    if faults := faults_of(error):
        return _invalid(faults)
    match error:
        case IllegalMove() | LastOwner():
            return problem(409, str(error))
        case NoSuchInvitation():
            return problem(404, str(error))
        case KeyInFlight():
            return problem(409, str(error), headers={"Retry-After": SHORTLY})
        case ChangedMeanwhile():
            return problem(412, str(error))
        case KeyReused():
            return problem(422, str(error))
        case Http404() | ObjectDoesNotExist():
            return problem(404, "There is no such thing, or it is not yours to see. Check the id.")
        case UploadTooLarge():
            return problem(413, str(error))
        case UnknownTenant() | MayOnlyLook() | OutOfScope() | NotAnOwner() | ForSomebodyElse() | PermissionDenied():
            return problem(403, str(error) or "You may not do this.")
        case NotYours() | RegistrationRefused():
            return problem(403, str(error))
        case exceptions.APIException():
            return problem(error.status_code, _detail(error), headers=_headers(error))
        case _ if isinstance(error, DATABASE_AWAY):
            return problem(
                503, "The database does not answer. Try again shortly.", headers={"Retry-After": RETRY_AFTER}
            )
    return None


def faults_of(error: Exception) -> list[Fault]:
    """Which fields of what was sent are wrong, and how; none, when the error is of another kind."""
    match error:
        case UnknownTask() | MailRefused():
            return [{"field": "task", "message": str(error)}]
        case InvalidPayload():
            return [
                {"field": f"payload.{field}".rstrip("."), "message": message} for field, message in error.errors.items()
            ]
        case InvalidRule():
            return [{"field": field, "message": message} for field, message in error.errors.items()]
        case InvalidSchedule():
            field = "schedule" if error.field == "schedule" else f"schedule.{error.field}"
            return [{"field": field, "message": str(error)}]
        case SeveralTasks():
            return [{"field": "payload", "message": str(error)}]
        case InvalidWindow() | InvalidPolicy() | UnreadableImage():
            return [{"field": error.field, "message": str(error)}]
        case QuotaExceeded():
            return [{"field": error.quota, "message": str(error)}]
        case exceptions.ValidationError():
            return _flatten(error.detail)
    return []


def page_not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """For addresses that lead nowhere."""
    return page_problem(404, f"Not found: {request.path[:200]}. The API is described at /api/docs.")


def page_problem(status: int, detail: str) -> JsonResponse:
    """The same for what is answered outside of the API's views."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)


def _invalid(errors: list[Fault]) -> Response:
    detail = "; ".join(f"{error['field']}: {error['message']}" for error in errors[:3])
    return problem(400, detail, errors)


def _beyond_quota(error: QuotaExceeded) -> Response:
    """429 where waiting helps, and 403 where it does not."""
    quota = {"name": error.quota, "limit": error.limit, "used": error.used, "wanted": error.wanted}
    if error.again_in is None:
        return problem(403, str(error), quota=quota)
    headers = {"Retry-After": str(int(error.again_in.total_seconds()) + 1)}
    return problem(429, str(error), headers=headers, quota=quota)


def _flatten(detail: Any, path: str = "") -> list[Fault]:
    """DRF's nested errors as a flat list of field and message."""
    if isinstance(detail, dict):
        pairs = ((f"{path}.{key}" if path else str(key), value) for key, value in detail.items())
        return [fault for where, value in pairs for fault in _flatten(value, where)]
    if isinstance(detail, list):
        return [fault for value in detail for fault in _flatten(value, path)]
    return [{"field": path.removesuffix("non_field_errors").removesuffix(".") or "body", "message": str(detail)}]


def _detail(error: exceptions.APIException) -> str:
    detail = error.detail
    return str(detail.get("detail", detail)) if isinstance(detail, dict) else str(detail)


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(ceil(error.wait))
    return headers
