"""The routes of a tenant's members."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import teams
from accounts.api.scoped import OfTenant
from accounts.models import Membership
from jobs.api.problem_schema import problems
from jobs.api.strict import BodySerializer

MEMBER = OpenApiParameter("user_id", int, OpenApiParameter.PATH, description="A member's `user`.")


class MemberSerializer(serializers.ModelSerializer):
    user = serializers.IntegerField(source="user_id")
    username = serializers.CharField(source="user.username")
    since = serializers.DateTimeField(source="created_at")

    class Meta:
        model = Membership
        fields = ["user", "username", "role", "since"]


class NewRoleSerializer(BodySerializer):
    role = serializers.ChoiceField(Membership.Role.choices)


class MembersView(OfTenant):
    @extend_schema(
        operation_id="list_members",
        tags=["tenants"],
        summary="List the members of a tenant, oldest first",
        responses={200: MemberSerializer(many=True), **problems(401, 403, 404)},
    )
    def get(self, request: Request, tenant_id: str) -> Response:
        page = self.paginate_queryset(self.own.tenant.memberships.select_related("user"))
        return self.get_paginated_response(MemberSerializer(page, many=True).data)


class MemberView(OfTenant):
    @extend_schema(
        operation_id="change_role",
        tags=["tenants"],
        summary="Change what somebody is in a tenant, as an owner",
        description="The last owner stays one: 409. Worker keys and invitations that a former owner made are revoked.",
        parameters=[MEMBER],
        request=NewRoleSerializer,
        responses={200: MemberSerializer, **problems(400, 401, 403, 404, 409)},
    )
    def patch(self, request: Request, tenant_id: str, user_id: str) -> Response:
        teams.check_owner(self.own)
        sent = NewRoleSerializer(data=request.data, partial=True)
        sent.is_valid(raise_exception=True)
        return Response(MemberSerializer(teams.change_role(self.own, int(user_id), **sent.validated_data)).data)

    @extend_schema(
        operation_id="remove_member",
        tags=["tenants"],
        summary="Remove somebody from a tenant, as an owner, or leave it",
        description="The API keys, worker keys and invitations that they made for it are revoked. "
        "The last owner cannot leave: 409.",
        parameters=[MEMBER],
        responses={204: None, **problems(401, 403, 404, 409)},
    )
    def delete(self, request: Request, tenant_id: str, user_id: str) -> Response:
        teams.remove_member(self.own, int(user_id))
        return Response(status=status.HTTP_204_NO_CONTENT)
