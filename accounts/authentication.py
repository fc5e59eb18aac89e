"""Who sends a token: simplejwt's check, and the user together with their standing in the tenant that is spoken for."""

from __future__ import annotations

from typing import Any

from drf_spectacular.contrib.rest_framework_simplejwt import SimpleJWTScheme
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import AuthenticationFailed, InvalidToken
from rest_framework_simplejwt.settings import api_settings

from accounts.models import User
from accounts.standing import user_with_standing
from accounts.tenancy import HEADER


class TokenAuthentication(JWTAuthentication):
    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        self._wanted = request.headers.get(HEADER)  # one of these is made for each request
        return super().authenticate(request)

    def get_user(self, validated_token: Any) -> User:
        if api_settings.USER_ID_CLAIM not in validated_token:
            raise InvalidToken("Token contained no recognizable user identification")
        user = user_with_standing(validated_token[api_settings.USER_ID_CLAIM], self._wanted)
        if user is None:
            raise AuthenticationFailed("User not found", code="user_not_found")
        if not user.is_active:
            raise AuthenticationFailed("User is inactive", code="user_inactive")
        return user


class TokenScheme(SimpleJWTScheme):
    """The same in the API's description; to have it here is what registers it."""

    target_class = TokenAuthentication
