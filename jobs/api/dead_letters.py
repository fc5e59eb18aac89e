"""The routes of dead letters: what they have in common, which they are, and acts on many of them at once."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import dead_letters
from jobs.api.dead_letter_schema import (
    describe_causes,
    describe_discard,
    describe_list,
    describe_replay,
    describe_replay_state,
    describe_replays,
)
from jobs.api.dead_letter_serializers import (
    ActSerializer,
    CriteriaSerializer,
    GroupsOptions,
    GroupsSerializer,
    NewDiscardSerializer,
    NewReplaySerializer,
    ReplayRowSerializer,
    ReplaySerializer,
    matching,
    selected,
)
from jobs.api.scoped import TenantScoped
from jobs.api.serializers import ExecutionRowSerializer
from jobs.api.strict import validated
from jobs.canaries import replay_carefully
from jobs.dead_letters import MOST_AT_ONCE
from jobs.models import Execution, Replay
from jobs.models.execution import ExecutionQuerySet


class DeadLetterViewSet(TenantScoped):
    queryset = Execution.objects.all()
    serializer_class = ExecutionRowSerializer
    filter_backends = []

    @describe_causes
    def list(self, request: Request) -> Response:
        asked = validated(GroupsOptions, request.query_params.dict())
        return Response(GroupsSerializer({"results": dead_letters.groups(self.tenant, **asked)}).data)

    @describe_list
    @action(detail=False, methods=["get"])
    def executions(self, request: Request) -> Response:
        criteria = validated(CriteriaSerializer, request.query_params.dict())
        page = self.paginate_queryset(matching(self._all, criteria).dead())
        return self.get_paginated_response(ExecutionRowSerializer(page, many=True).data)

    @describe_replay
    @action(detail=False, methods=["post"])
    def replay(self, request: Request) -> Response:
        wanted = validated(NewReplaySerializer, request.data)
        which, payload = selected(self._all, wanted), wanted.get("payload")
        if "canary" in wanted:
            act = {"tenant": self.tenant, "actor": request.user, "payload": payload}
            careful = replay_carefully(which, canaries=wanted["canary"], **act)
            return Response(ReplaySerializer(careful).data, status=status.HTTP_202_ACCEPTED)
        done = dead_letters.replay(which, actor=request.user, payload=payload, most=MOST_AT_ONCE)
        return _told(done, which.replayable())

    @describe_discard
    @action(detail=False, methods=["post"])
    def discard(self, request: Request) -> Response:
        wanted = validated(NewDiscardSerializer, request.data)
        which = selected(self._all, wanted)
        done = dead_letters.discard(which, actor=request.user, reason=wanted["reason"], most=MOST_AT_ONCE)
        return _told(done, which.dead())

    @property
    def _all(self) -> ExecutionQuerySet:
        return Execution.objects.for_tenant(self.tenant)


@extend_schema_view(list=describe_replays, retrieve=describe_replay_state)
class ReplayViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantScoped):
    queryset = Replay.objects.select_related("actor")
    serializer_class = ReplayRowSerializer
    filter_backends = []

    def get_serializer_class(self) -> type[ReplaySerializer]:
        return ReplaySerializer if self.action == "retrieve" else ReplayRowSerializer

    def get_queryset(self) -> QuerySet[Replay]:
        if getattr(self, "swagger_fake_view", False):
            return Replay.objects.none()
        return super().get_queryset().for_tenant(self.tenant)


def _told(count: int, left: ExecutionQuerySet) -> Response:
    return Response(ActSerializer({"count": count, "more": left.exists()}).data)
