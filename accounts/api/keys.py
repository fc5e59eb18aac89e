"""The routes of API keys."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers, status
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import keys
from accounts.api.fields import CountField
from accounts.api.pagination import LatestFirst
from accounts.api.scoped import PeopleOnly
from accounts.models import ApiKey
from accounts.models.api_key import Scope
from accounts.tenancy import HEADER, membership_for, tenant_named
from jobs.api.problem_schema import problems
from jobs.api.strict import BodySerializer, BoundedListField

MOST_REQUESTS = 10_000_000  # a minute: more than any machine asks
TENANT = OpenApiParameter(
    HEADER, str, OpenApiParameter.HEADER, description="One of your tenants; without it, the one you joined first."
)


class ScopesField(serializers.ListField):
    """A list outside, words inside."""

    def to_representation(self, value: str) -> list[str]:
        return value.split()


class KeySerializer(serializers.ModelSerializer):
    scopes = ScopesField(child=serializers.ChoiceField(Scope.choices))
    creator = serializers.CharField(source="creator.username", help_text="In whose name it asks.")
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")

    class Meta:
        model = ApiKey
        fields = [
            "id",
            "name",
            "prefix",
            "scopes",
            "rate_limit",
            "creator",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
        ]


class NewKeySerializer(KeySerializer):
    key = serializers.CharField(help_text="For `Authorization: Api-Key …`. It is shown now and never again.")

    class Meta(KeySerializer.Meta):
        fields = [*KeySerializer.Meta.fields, "key"]


class WantedKeySerializer(BodySerializer):
    name = serializers.CharField(max_length=100, help_text="What it is for.")
    scopes = BoundedListField(
        child=serializers.ChoiceField(Scope.choices), min_length=1, max_length=2, help_text="What it may do."
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="Without one, never.")
    rate_limit = CountField(
        min_value=0,
        max_value=MOST_REQUESTS,
        required=False,
        allow_null=True,
        help_text="Requests a minute. Without one, what the settings say; 0: only the tenant's limit counts.",
    )

    def validate_expires_at(self, value: Any) -> Any:
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("has passed. Give a time to come, or none.")
        return value


class OfKeys(generics.GenericAPIView):
    """Of the keys, in the tenant a request speaks for, that its user may see."""

    permission_classes = [IsAuthenticated, PeopleOnly]
    pagination_class = LatestFirst
    filter_backends: list = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        writes = request.method not in SAFE_METHODS
        self.own = membership_for(request.user, request.headers.get(HEADER), to_write=writes)


class KeysView(OfKeys):
    serializer_class = WantedKeySerializer

    @extend_schema(
        operation_id="list_keys",
        tags=["keys"],
        summary="List the tenant's API keys, newest first; those of others only as an owner",
        parameters=[TENANT],
        responses={200: KeySerializer(many=True), **problems(401, 403, 404)},
    )
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(keys.visible_to(self.own))
        return self.get_paginated_response(KeySerializer(page, many=True).data)

    @extend_schema(
        operation_id="create_key",
        tags=["keys"],
        summary="Make an API key; the answer is the only one that shows it",
        parameters=[TENANT],
        request=WantedKeySerializer,
        responses={201: NewKeySerializer, **problems(400, 401, 403)},
    )
    def post(self, request: Request) -> Response:
        wanted = WantedKeySerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        key, text = keys.create_key(tenant=self.own.tenant, creator=request.user, **wanted.validated_data)
        return Response(KeySerializer(key).data | {"key": text}, status=status.HTTP_201_CREATED)


class KeyView(OfKeys):
    @extend_schema(
        operation_id="revoke_key",
        tags=["keys"],
        summary="Revoke an API key at once; it stays in the list",
        parameters=[TENANT],
        responses={204: None, **problems(401, 403, 404)},
    )
    def delete(self, request: Request, id: str) -> Response:
        found = keys.visible_to(self.own).filter(pk=tenant_named(id))
        if not found.exists():
            raise Http404
        found.revoke(timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)
