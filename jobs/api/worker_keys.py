"""Keys for workers in other languages, which an owner makes for their tenant's work."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.scoped import PeopleOnly
from accounts.teams import check_owner
from accounts.tenancy import HEADER, membership_for
from execution import worker_keys
from execution.models import WorkerKey
from jobs.api.problem_schema import problems
from jobs.api.scoped import TenantScoped
from jobs.api.strict import BodySerializer, BoundedListField

MOST_TASKS = 20


class WorkerKeySerializer(serializers.ModelSerializer):
    tasks = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = WorkerKey
        fields = ["id", "name", "tasks", "created_at", "expires_at", "revoked_at", "last_used_at"]


class NewWorkerKeySerializer(BodySerializer):
    name = serializers.CharField(max_length=100, required=False, default="")
    tasks = BoundedListField(
        child=serializers.CharField(max_length=100),
        min_length=1,
        max_length=MOST_TASKS,
        help_text="That the worker may run: those declared for workers in other languages.",
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)

    def validate_expires_at(self, value: Any) -> Any:
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("lies in the past. Give a later time, or none.")
        return value


class MadeWorkerKeySerializer(WorkerKeySerializer):
    key = serializers.CharField(help_text="What the worker sends. It is shown this once.")

    class Meta(WorkerKeySerializer.Meta):
        fields = [*WorkerKeySerializer.Meta.fields, "key"]


@extend_schema_view(
    list=extend_schema(
        operation_id="list_worker_keys",
        summary="List the keys of your workers",
        responses={200: WorkerKeySerializer(many=True), **problems(401, 403)},
    )
)
class WorkerKeyViewSet(mixins.ListModelMixin, TenantScoped):
    queryset = WorkerKey.objects.all()
    serializer_class = WorkerKeySerializer
    permission_classes = [IsAuthenticated, PeopleOnly]  # a key that leaked is not to make others
    pagination_class = None
    filter_backends: list = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        check_owner(membership_for(request.user, request.headers.get(HEADER), to_write=False))

    def get_queryset(self) -> QuerySet[WorkerKey]:
        if getattr(self, "swagger_fake_view", False):
            return WorkerKey.objects.none()
        return super().get_queryset().for_tenant(self.tenant)

    @extend_schema(
        operation_id="make_worker_key",
        summary="Make a key for a worker of your tenant's executions; it is shown this once",
        request=NewWorkerKeySerializer,
        responses={201: MadeWorkerKeySerializer, **problems(400, 401, 403, 413, 415)},
    )
    def create(self, request: Request) -> Response:
        wanted = NewWorkerKeySerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        made = worker_keys.make_worker_key(**wanted.validated_data, tenant=self.tenant, owner=request.user)
        shown = WorkerKeySerializer(made.key).data | {"key": made.secret}
        return Response(shown, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="revoke_worker_key",
        summary="Take a key back at once",
        responses={204: None, **problems(401, 403, 404)},
    )
    def destroy(self, request: Request, pk: str) -> Response:
        worker_keys.revoke(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
