"""What the routes of accounts begin with: that a person asks, and what they are in the tenant they name."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import generics
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request

from accounts.api.pagination import ByTime
from accounts.models import ApiKey, Membership
from accounts.tenancy import tenant_named


class PeopleOnly(BasePermission):
    """A key that leaked could otherwise make itself successors, and let others in."""

    message = "An API key cannot manage keys, tenants or their members. Sign in as a person."

    def has_permission(self, request: Request, view: Any) -> bool:
        return not isinstance(request.auth, ApiKey)


class OfTenant(generics.GenericAPIView):
    """Of a tenant that the path names and the user belongs to; any other is none."""

    permission_classes = [IsAuthenticated, PeopleOnly]
    pagination_class = ByTime
    filter_backends: list = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        own = Membership.objects.select_related("tenant", "user")
        self.own = own.filter(user=request.user, tenant=tenant_named(kwargs["tenant_id"])).first()
        if self.own is None:
            raise Http404
