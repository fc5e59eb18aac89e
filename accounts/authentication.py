"""Who asks: the user a token or an API key speaks for, with their standing in the tenant that is wanted."""

from __future__ import annotations

from typing import Any

from drf_spectacular.contrib.rest_framework_simplejwt import SimpleJWTScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication

from accounts.keys import BadKey, user_of_key
from accounts.models import ApiKey, User
from accounts.standing import user_with_standing
from accounts.tenancy import HEADER
from accounts.tokens import FAMILY

KEYWORD = "Api-Key"


class TokenAuthentication(JWTAuthentication):
    """`Authorization: Bearer …`: good for as long as its family is."""

    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        self._wanted = request.headers.get(HEADER)  # one of these is made for each request
        return super().authenticate(request)

    def get_user(self, validated_token: Any) -> User:
        user = user_with_standing(validated_token.get(FAMILY), self._wanted)
        if user is None:
            raise AuthenticationFailed("The session of this token has ended. Sign in again.", code="session_ended")
        if not user.is_active:
            raise AuthenticationFailed("User is inactive", code="user_inactive")
        return user


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Api-Key …`: the user is whoever made the key."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        keyword, _, text = request.headers.get("Authorization", "").partition(" ")
        if keyword.lower() != KEYWORD.lower():
            return None
        try:
            user = user_of_key(text.strip(), request.headers.get(HEADER))
        except BadKey as error:
            raise AuthenticationFailed(str(error), code="bad_key") from None
        return user, user.standing.key

    def authenticate_header(self, request: Request) -> str:
        return f'{KEYWORD} realm="api"'


class TokenScheme(SimpleJWTScheme):
    """The same in the API's description; to have it here is what registers it."""

    target_class = TokenAuthentication
    priority = 1


class KeyScheme(OpenApiAuthenticationExtension):
    target_class = KeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": f"`{KEYWORD} punctual_…`, with a key made at `/api/v1/keys`.",
        }
