"""The routes of tenants."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import teams
from accounts.api.pagination import ByTime
from accounts.api.scoped import OfTenant, PeopleOnly
from accounts.models import ApiKey, Membership
from jobs.api.problem_schema import problems
from jobs.api.strict import BodySerializer


class OwnTenantSerializer(serializers.ModelSerializer):
    """A tenant as one of its people sees it."""

    id = serializers.UUIDField(source="tenant.id", help_text="For `X-Tenant-ID`.")
    name = serializers.CharField(source="tenant.name")
    role = serializers.ChoiceField(Membership.Role.choices, help_text="What you are in it.")
    created_at = serializers.DateTimeField(source="tenant.created_at")

    class Meta:
        model = Membership
        fields = ["id", "name", "role", "created_at"]


class NewTenantSerializer(BodySerializer):
    name = serializers.CharField(max_length=150)


class TenantsView(generics.GenericAPIView):
    serializer_class = NewTenantSerializer
    pagination_class = ByTime
    filter_backends: list = []

    def get_permissions(self) -> list:
        # A machine may ask whom it speaks for.
        looks = self.request is None or self.request.method in SAFE_METHODS
        return [IsAuthenticated()] if looks else [IsAuthenticated(), PeopleOnly()]

    @extend_schema(
        operation_id="list_tenants",
        tags=["tenants"],
        summary="List your tenants, the one that counts without X-Tenant-ID first; for an API key, its own",
        responses={200: OwnTenantSerializer(many=True), **problems(401, 404)},
    )
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(_visible_to(request))
        return self.get_paginated_response(OwnTenantSerializer(page, many=True).data)

    @extend_schema(
        operation_id="create_tenant",
        tags=["tenants"],
        summary="Create a tenant that you own",
        request=NewTenantSerializer,
        responses={201: OwnTenantSerializer, **problems(400, 401, 403)},
    )
    def post(self, request: Request) -> Response:
        membership = teams.create_tenant(name=_name(request), owner=request.user)
        return Response(OwnTenantSerializer(membership).data, status=status.HTTP_201_CREATED)


class TenantView(OfTenant):
    @extend_schema(
        operation_id="get_tenant",
        tags=["tenants"],
        summary="Read a tenant",
        responses={200: OwnTenantSerializer, **problems(401, 403, 404)},
    )
    def get(self, request: Request, tenant_id: str) -> Response:
        return Response(OwnTenantSerializer(self.own).data)

    @extend_schema(
        operation_id="rename_tenant",
        tags=["tenants"],
        summary="Rename a tenant, as an owner",
        request=NewTenantSerializer,
        responses={200: OwnTenantSerializer, **problems(400, 401, 403, 404)},
    )
    def patch(self, request: Request, tenant_id: str) -> Response:
        teams.check_owner(self.own)
        sent = NewTenantSerializer(data=request.data, partial=True)
        sent.is_valid(raise_exception=True)
        name = sent.validated_data.get("name", self.own.tenant.name)
        return Response(OwnTenantSerializer(teams.rename_tenant(self.own, name)).data)


def _visible_to(request: Request) -> QuerySet[Membership]:
    own = Membership.objects.filter(user=request.user).select_related("tenant")
    return own.filter(tenant=request.auth.tenant_id) if isinstance(request.auth, ApiKey) else own


def _name(request: Request) -> str:
    sent = NewTenantSerializer(data=request.data)
    sent.is_valid(raise_exception=True)
    return sent.validated_data["name"]
