"""The routes of invitations."""

from __future__ import annotations

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import inviting
from accounts.api.pagination import LatestFirst
from accounts.api.scoped import OfTenant, PeopleOnly
from accounts.api.tenants import OwnTenantSerializer
from accounts.links import link_to
from accounts.models import Invitation, Membership
from accounts.teams import check_owner
from accounts.tenancy import tenant_named
from jobs.api.problem_schema import problems
from jobs.api.strict import BodySerializer


class InvitationSerializer(serializers.ModelSerializer):
    invited_by = serializers.CharField(source="invited_by.username", default=None, allow_null=True)

    class Meta:
        model = Invitation
        fields = ["id", "email", "role", "invited_by", "created_at", "expires_at"]


class NewInvitationSerializer(InvitationSerializer):
    token = serializers.CharField(help_text="Accepts the invitation. It is not shown again.")
    mailed = serializers.BooleanField(help_text="Whether a mail was sent to the address. If not, pass the token on.")

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "token", "mailed"]


class WantedInvitationSerializer(BodySerializer):
    email = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(Membership.Role.choices, default=Membership.Role.MEMBER)


class AcceptanceSerializer(BodySerializer):
    token = serializers.CharField(max_length=200)


class InvitationsView(OfTenant):
    serializer_class = WantedInvitationSerializer
    pagination_class = LatestFirst

    @extend_schema(
        operation_id="list_invitations",
        tags=["tenants"],
        summary="List the invitations that can still be accepted, newest first, as an owner",
        responses={200: InvitationSerializer(many=True), **problems(401, 403, 404)},
    )
    def get(self, request: Request, tenant_id: str) -> Response:
        check_owner(self.own)
        invitations = Invitation.objects.for_tenant(self.own.tenant).open(timezone.now())
        page = self.paginate_queryset(invitations.select_related("invited_by"))
        return self.get_paginated_response(InvitationSerializer(page, many=True).data)

    @extend_schema(
        operation_id="invite",
        tags=["tenants"],
        summary="Invite the person with an email address, as an owner",
        description=(
            "A link is mailed to the address. The token in this answer is for passing on by other means; it is not "
            "shown again. Accepting with the mailed one also verifies the address."
        ),
        request=WantedInvitationSerializer,
        responses={201: NewInvitationSerializer, **problems(400, 401, 403, 404, 429)},
    )
    def post(self, request: Request, tenant_id: str) -> Response:
        check_owner(self.own)
        sent = WantedInvitationSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        invitation, token, mailed = inviting.invite(self.own, link=_link(request), **sent.validated_data)
        shown = InvitationSerializer(invitation).data | {"token": token, "mailed": mailed}
        return Response(shown, status=status.HTTP_201_CREATED)


class InvitationView(OfTenant):
    @extend_schema(
        operation_id="withdraw_invitation",
        tags=["tenants"],
        summary="Withdraw an invitation, as an owner",
        responses={204: None, **problems(401, 403, 404)},
    )
    def delete(self, request: Request, tenant_id: str, id: str) -> Response:
        check_owner(self.own)
        open_ones = Invitation.objects.for_tenant(self.own.tenant).open(timezone.now())
        if not open_ones.filter(pk=tenant_named(id)).delete()[0]:
            raise Http404
        return Response(status=status.HTTP_204_NO_CONTENT)


class AcceptView(APIView):
    permission_classes = [IsAuthenticated, PeopleOnly]

    @extend_schema(
        operation_id="accept_invitation",
        tags=["tenants"],
        summary="Accept an invitation to your address",
        description="The role of a user who is a member already does not change.",
        request=AcceptanceSerializer,
        responses={200: OwnTenantSerializer, **problems(400, 401, 403, 404)},
    )
    def post(self, request: Request) -> Response:
        sent = AcceptanceSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        membership = inviting.accept(sent.validated_data["token"], user=request.user)
        return Response(OwnTenantSerializer(membership).data)


def _link(request: Request) -> inviting.Link:
    return lambda token: link_to(request._request, "invitation", token=token)
