"""The routes of alert rules: who is told of which incidents, and how."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.alerts import rules
from jobs.alerts.rules import with_latest_notices
from jobs.api.alert_serializers import AlertChangeSerializer, AlertSerializer, NoticeSerializer
from jobs.api.problem_schema import problems
from jobs.api.scoped import TenantScoped
from jobs.models import AlertRule


@extend_schema_view(
    list=extend_schema(
        operation_id="list_alerts",
        summary="List who is told of what, newest first",
        responses={200: AlertSerializer(many=True), **problems(400, 401, 403)},
    ),
    retrieve=extend_schema(
        operation_id="get_alert",
        summary="Read one rule, with what became of its latest notice",
        responses={200: AlertSerializer, **problems(401, 403, 404)},
    ),
    create=extend_schema(
        operation_id="create_alert",
        summary="Have somebody told of what is missed, late, failed or recovered from now on",
        request=AlertChangeSerializer,
        responses={201: AlertSerializer, **problems(400, 401, 403, 413, 415)},
    ),
    partial_update=extend_schema(
        operation_id="update_alert",
        summary="Change a rule, or switch it off and on",
        request=AlertChangeSerializer(partial=True),
        responses={200: AlertSerializer, **problems(400, 401, 403, 404, 413, 415)},
    ),
    destroy=extend_schema(
        operation_id="delete_alert",
        summary="Delete a rule, and with it what it has not yet told",
        responses={204: None, **problems(401, 403, 404)},
    ),
)
class AlertViewSet(mixins.ListModelMixin, TenantScoped):
    queryset = AlertRule.objects.select_related("tenant")
    writes_need_read = True
    serializer_class = AlertSerializer
    filter_backends: list = []
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]

    def get_queryset(self) -> QuerySet[AlertRule]:
        if getattr(self, "swagger_fake_view", False):
            return AlertRule.objects.none()
        return super().get_queryset().for_tenant(self.tenant)

    def list(self, request: Request) -> Response:
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(AlertSerializer(with_latest_notices(page), many=True).data)

    def retrieve(self, request: Request, pk: str) -> Response:
        return self._answer(self.get_object())

    def create(self, request: Request) -> Response:
        wanted = AlertChangeSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        made = rules.create_rule(wanted.validated_data, tenant=self.tenant, actor=request.user)
        return self._answer(made, status.HTTP_201_CREATED)

    def partial_update(self, request: Request, pk: str) -> Response:
        rule = self.get_object()
        wanted = AlertChangeSerializer(data=request.data, partial=True)
        wanted.is_valid(raise_exception=True)
        return self._answer(rules.update_rule(rule, wanted.validated_data, actor=request.user))

    def destroy(self, request: Request, pk: str) -> Response:
        rules.delete_rule(self.get_object(), actor=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="test_alert",
        summary="Have a test notice sent; the rule's `latest_notice` tells what became of it",
        request=None,
        responses={202: NoticeSerializer, **problems(401, 403, 404, 409)},
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: str) -> Response:
        notice = rules.send_test(self.get_object(), actor=request.user)
        return Response(NoticeSerializer(notice).data, status=status.HTTP_202_ACCEPTED)

    def _answer(self, rule: AlertRule, code: int = status.HTTP_200_OK) -> Response:
        with_latest_notices([rule])
        return Response(AlertSerializer(rule).data, status=code)
