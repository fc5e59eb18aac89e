"""Registering, and getting tokens."""

from __future__ import annotations

from django.db import IntegrityError
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework_simplejwt.exceptions import InvalidToken
from rest_framework_simplejwt.views import TokenObtainPairView, TokenRefreshView

from accounts import services
from accounts.api.serializers import TAKEN, RegistrationSerializer
from accounts.models import User


@extend_schema_view(post=extend_schema(operation_id="register", tags=["auth"], auth=[]))
class RegisterView(generics.CreateAPIView):
    """Create a user and their personal tenant."""

    serializer_class = RegistrationSerializer
    permission_classes = [AllowAny]
    authentication_classes: list = []

    def perform_create(self, serializer: RegistrationSerializer) -> None:
        try:
            serializer.instance = services.register(**serializer.validated_data)
        except IntegrityError:  # somebody was quicker
            raise ValidationError({"username": [TAKEN]}) from None


@extend_schema_view(post=extend_schema(operation_id="get_token", tags=["auth"], auth=[]))
class TokenView(TokenObtainPairView):
    """Exchange a username and password for an access token and a refresh token."""


@extend_schema_view(post=extend_schema(operation_id="refresh_token", tags=["auth"], auth=[]))
class RefreshView(TokenRefreshView):
    """Exchange a refresh token for a new access token."""

    def post(self, request, *args, **kwargs):
        try:
            return super().post(request, *args, **kwargs)
        except User.DoesNotExist:
            raise InvalidToken("The user of this token no longer exists. Sign in again.") from None
