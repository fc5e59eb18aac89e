"""Registering, signing in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate
from django.db import IntegrityError
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, status
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import attempts, registration, tokens, verification
from accounts.api.serializers import (
    TAKEN,
    CredentialsSerializer,
    LogoutSerializer,
    RefreshSerializer,
    RegistrationSerializer,
    TokenPairSerializer,
)
from accounts.authentication import TokenAuthentication
from accounts.links import link_to
from accounts.models import User
from jobs.api.problem_schema import problems


class Open(APIView):
    """For whoever has no token yet."""

    permission_classes = [AllowAny]
    authentication_classes: list = []

    def get_authenticate_header(self, request: Request) -> str:
        return TokenAuthentication().authenticate_header(request)  # else a wrong password would be a 403


@extend_schema_view(
    post=extend_schema(
        operation_id="register",
        tags=["auth"],
        summary="Create a user and their personal tenant",
        description=(
            "The setting `REGISTRATION` decides who may: anybody (`open`), people with an invitation (`invited`), or "
            "nobody (`closed`)."
        ),
        auth=[],
        responses={201: RegistrationSerializer, **problems(400, 403, 404, 429)},
    )
)
class RegisterView(Open, generics.CreateAPIView):
    serializer_class = RegistrationSerializer

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        token = request.data.get("invitation") if isinstance(request.data, dict) else None
        registration.admit(request._request, token if isinstance(token, str) else "")
        return super().create(request, *args, **kwargs)

    def perform_create(self, serializer: RegistrationSerializer) -> None:
        try:
            serializer.instance = registration.sign_up(**serializer.validated_data)
        except IntegrityError:  # somebody was quicker
            raise ValidationError({"username": [TAKEN]}) from None
        request = self.request._request
        verification.request_first_proof(
            serializer.instance, link=lambda token: link_to(request, "verify-address", token=token)
        )


class TokenView(Open):
    @extend_schema(
        operation_id="get_token",
        tags=["auth"],
        summary="Sign in: exchange a username and password for an access token and a refresh token",
        description="A wrong password and an unknown user are answered alike.",
        auth=[],
        request=CredentialsSerializer,
        responses={200: TokenPairSerializer, **problems(400, 401, 429)},
    )
    def post(self, request: Request) -> Response:
        user = authenticate(request._request, **_read(CredentialsSerializer, request))
        if user is None:
            attempts.check_sign_in(request._request)
            raise AuthenticationFailed("Incorrect username or password.")
        return Response(signed_in(user))


class RefreshView(Open):
    @extend_schema(
        operation_id="refresh_token",
        tags=["auth"],
        summary="Exchange a refresh token for a new pair",
        description=(
            "Each refresh token is good for one use. To use one again ends the session with all its tokens, whoever "
            "holds them: the other one may be a thief's."
        ),
        auth=[],
        request=RefreshSerializer,
        responses={200: TokenPairSerializer, **problems(400, 401)},
    )
    def post(self, request: Request) -> Response:
        try:
            return Response(tokens.refresh(**_read(RefreshSerializer, request))._asdict())
        except tokens.SignInAgain as error:
            raise AuthenticationFailed(str(error)) from None


class LogoutView(Open):
    @extend_schema(
        operation_id="logout",
        tags=["auth"],
        summary="Sign out: end the session of a token, with all its tokens, at once",
        description="Send the refresh token, or an access token as `Authorization` and no body.",
        auth=[{}, {"jwtAuth": []}],
        request=LogoutSerializer,
        responses={204: None, **problems(400, 401)},
    )
    def post(self, request: Request) -> Response:
        refresh = _read(LogoutSerializer, request).get("refresh")
        if refresh is not None:
            _sign_out(refresh)
        elif who := TokenAuthentication().authenticate(request):
            tokens.end_family(who[1][tokens.FAMILY])
        else:
            raise NotAuthenticated("Send the refresh token in the body, or an access token as Authorization.")
        return Response(status=status.HTTP_204_NO_CONTENT)


def signed_in(user: User) -> dict[str, str]:
    """A new pair of tokens. Raises AuthenticationFailed where the password has changed since it was checked."""
    try:
        return tokens.sign_in(user)._asdict()
    except tokens.SignInAgain as error:
        raise AuthenticationFailed(str(error)) from None


def _sign_out(refresh: str) -> None:
    try:
        tokens.sign_out(refresh)
    except tokens.SignInAgain as error:
        raise AuthenticationFailed(str(error)) from None


def _read(kind: Any, request: Request) -> dict[str, Any]:
    sent = kind(data=request.data)
    sent.is_valid(raise_exception=True)
    return sent.validated_data
