"""What every route of a tenant's things begins with: whose things they are."""

from __future__ import annotations

from typing import Any

from rest_framework import viewsets
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import ApiKey
from accounts.models.api_key import Scope
from accounts.tenancy import HEADER, OutOfScope, membership_for
from jobs.api.pagination import NewestFirst

BAD_REQUEST = 400
STORED = frozenset({"payload", "result", "error", "emails", "url", "latest_notice"})  # and whatever is in them


class TenantScoped(viewsets.GenericViewSet):
    """Sees nothing outside the tenant the request speaks for."""

    pagination_class = NewestFirst
    lookup_value_regex = "[^/]+"
    writes_need_read = False  # from an API key: set it where a write sends stored data to somebody else

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        writes = request.method not in SAFE_METHODS
        self.tenant = membership_for(request.user, request.headers.get(HEADER), to_write=writes).tenant
        if writes and self.writes_need_read and may_not_read(request):
            raise OutOfScope("This API key lacks the `read` scope. Create a key that has it.")

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        if may_not_read(request) and response.status_code < BAD_REQUEST:
            response.data = unread(response.data)
        return response


def may_not_read(request: Request) -> bool:
    key = getattr(request, "auth", None)
    return isinstance(key, ApiKey) and not key.allows(Scope.READ)


def unread(answer: Any) -> Any:
    """An answer without what it repeats of stored things: an act that changes nothing would otherwise read them."""
    if isinstance(answer, dict):
        return {name: _nothing(value) if name in STORED else unread(value) for name, value in answer.items()}
    return [unread(one) for one in answer] if isinstance(answer, list) else answer


def _nothing(value: Any) -> Any:
    """What is there instead: of the same type where that has something empty."""
    return type(value)() if isinstance(value, str | list) else None
