"""What the receivers of a tenant's requests verify them with."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.tenancy import HEADER, membership_for
from execution.outbound.tenant_keys import secret_of
from jobs.api.scoped import TenantScoped


class SigningSecretSerializer(serializers.Serializer):
    secret = serializers.CharField(help_text="whsec_ and base64, as the libraries of Standard Webhooks take it.")


class SigningSecretView(TenantScoped):
    @extend_schema(
        operation_id="get_signing_secret",
        summary="Read the secret that your tenant's HTTP requests are signed with",
        description="By the Standard Webhooks rules. With it requests can be forged: not for those who only look.",
        responses=SigningSecretSerializer,
    )
    def retrieve(self, request: Request) -> Response:
        membership_for(request.user, request.headers.get(HEADER), to_write=True)
        return Response({"secret": secret_of(self.tenant.pk)}, headers={"Cache-Control": "no-store"})
