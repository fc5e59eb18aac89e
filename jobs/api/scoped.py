"""What every route of a tenant's things begins with: whose things they are."""

from __future__ import annotations

from typing import Any

from rest_framework import viewsets
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.tenancy import HEADER, membership_for
from jobs.api.pagination import NewestFirst


class TenantScoped(viewsets.GenericViewSet):
    """Sees nothing outside the tenant the request speaks for."""

    pagination_class = NewestFirst
    lookup_value_regex = "[^/]+"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        writes = request.method not in SAFE_METHODS
        self.tenant = membership_for(request.user, request.headers.get(HEADER), to_write=writes).tenant
