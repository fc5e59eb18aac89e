"""The routes of one's own account: who it is, its password, its address, and signing out everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import passwords, verification
from accounts.api.fields import TextField
from accounts.api.scoped import PeopleOnly
from accounts.api.serializers import TokenPairSerializer
from accounts.api.views import Open, signed_in
from accounts.links import link_to
from accounts.models import User
from jobs.api.problem_schema import problems
from jobs.api.strict import BodySerializer, validated


class OwnAccountSerializer(serializers.ModelSerializer):
    email_verified = serializers.BooleanField(
        source="has_verified_address", help_text="Whether you have proved that you read mail to this address."
    )

    class Meta:
        model = User
        fields = ["id", "username", "email", "email_verified"]


class PasswordChangeSerializer(BodySerializer):
    current_password = TextField(max_length=128, trim_whitespace=False)
    new_password = TextField(max_length=128, trim_whitespace=False)


class ResetRequestSerializer(BodySerializer):
    email = serializers.EmailField(max_length=254)


class PasswordResetSerializer(BodySerializer):
    token = TextField(max_length=200, help_text="From the link that was mailed.")
    new_password = TextField(max_length=128, trim_whitespace=False)


class EmailProofSerializer(BodySerializer):
    token = TextField(max_length=200, help_text="From the link that was mailed.")


class ToldSerializer(serializers.Serializer):
    detail = serializers.CharField()


class Own(APIView):
    permission_classes = [IsAuthenticated, PeopleOnly]

    def user(self, request: Request) -> User:
        """All of the user: authentication reads only a part."""
        return User.objects.get(pk=request.user.pk)


class OwnAccountView(Own):
    @extend_schema(
        operation_id="get_account",
        tags=["auth"],
        summary="Read your own account",
        responses={200: OwnAccountSerializer, **problems(401, 403)},
    )
    def get(self, request: Request) -> Response:
        return Response(OwnAccountSerializer(self.user(request)).data)


class PasswordView(Own):
    @extend_schema(
        operation_id="change_password",
        tags=["auth"],
        summary="Change your password",
        description=(
            "Ends all your sessions and tokens, on all devices; the answer has a new pair of tokens. API keys stay. "
            "Wrong current passwords count as failed sign-ins."
        ),
        request=PasswordChangeSerializer,
        responses={200: TokenPairSerializer, **problems(400, 401, 403, 429)},
    )
    def post(self, request: Request) -> Response:
        sent = validated(PasswordChangeSerializer, request.data)
        try:
            user = _strong_enough(
                lambda: passwords.change(
                    request._request, self.user(request), current=sent["current_password"], new=sent["new_password"]
                )
            )
        except passwords.WrongPassword as error:
            raise ValidationError({"current_password": [str(error)]}) from None
        return Response(signed_in(user))


class ResetRequestView(Open):
    @extend_schema(
        operation_id="request_password_reset",
        tags=["auth"],
        summary="Mail a link that resets a forgotten password",
        description="The answer is the same whether or not an account has the address.",
        auth=[],
        request=ResetRequestSerializer,
        responses={202: ToldSerializer, **problems(400, 429)},
    )
    def post(self, request: Request) -> Response:
        address = validated(ResetRequestSerializer, request.data)["email"]
        told = passwords.request_reset(request._request, address, link=_link(request, "reset-password"))
        return Response({"detail": told}, status=status.HTTP_202_ACCEPTED)


class ResetView(Open):
    @extend_schema(
        operation_id="reset_password",
        tags=["auth"],
        summary="Set a new password with a mailed token",
        description="The token works once. Ends all sessions and tokens of the user.",
        auth=[],
        request=PasswordResetSerializer,
        responses={204: None, **problems(400)},
    )
    def post(self, request: Request) -> Response:
        sent = validated(PasswordResetSerializer, request.data)
        try:
            _strong_enough(lambda: passwords.reset(request._request, sent["token"], new=sent["new_password"]))
        except passwords.BadResetToken as error:
            raise ValidationError({"token": [str(error)]}) from None
        return Response(status=status.HTTP_204_NO_CONTENT)


class EverywhereView(Own):
    @extend_schema(
        operation_id="sign_out_everywhere",
        tags=["auth"],
        summary="End all sessions and tokens of yours at once, on all devices",
        description="API keys stay; revoke them one by one.",
        request=None,
        responses={204: None, **problems(401, 403)},
    )
    def post(self, request: Request) -> Response:
        self.user(request).sign_out_everywhere()
        return Response(status=status.HTTP_204_NO_CONTENT)


class EmailProofRequestView(Own):
    @extend_schema(
        operation_id="request_email_verification",
        tags=["auth"],
        summary="Mail a link that verifies your address",
        request=None,
        responses={202: ToldSerializer, **problems(400, 401, 403, 429)},
    )
    def post(self, request: Request) -> Response:
        try:
            address = verification.request_proof(self.user(request), link=_link(request, "verify-address"))
        except verification.NoAddress as error:
            raise ValidationError({"email": [str(error)]}) from None
        return Response({"detail": f"A link is on its way to {address}."}, status=status.HTTP_202_ACCEPTED)


class EmailProofView(Own):
    @extend_schema(
        operation_id="verify_email",
        tags=["auth"],
        summary="Verify your address with a mailed token",
        request=EmailProofSerializer,
        responses={200: OwnAccountSerializer, **problems(400, 401, 403)},
    )
    def post(self, request: Request) -> Response:
        user = self.user(request)
        try:
            verification.verify(validated(EmailProofSerializer, request.data)["token"], user=user)
        except verification.BadEmailProof as error:
            raise ValidationError({"token": [str(error)]}) from None
        return Response(OwnAccountSerializer(user).data)


def _strong_enough(set_password: Callable[[], User]) -> User:
    try:
        return set_password()
    except DjangoValidationError as error:
        raise ValidationError({"new_password": error.messages}) from None


def _link(request: Request, page: str) -> Callable[[str], Any]:
    return lambda token: link_to(request._request, page, token=token)
