"""What goes in and out of the routes for registering, signing in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.validators import UniqueValidator

from accounts.api.fields import TextField
from accounts.models import Tenant, User

TAKEN = "is taken. Choose another."


class TenantSerializer(serializers.ModelSerializer):
    class Meta:
        model = Tenant
        fields = ["id", "name"]


class UsernameField(TextField):
    """Brought into the form it is stored in before anything is checked: `ｚoe` is `zoe`, and taken if she is."""

    def to_internal_value(self, data: Any) -> str:
        return User.normalize_username(super().to_internal_value(data))


class RegistrationSerializer(serializers.ModelSerializer):
    username = UsernameField(
        max_length=150, validators=[UnicodeUsernameValidator(), UniqueValidator(User.objects.all(), TAKEN)]
    )
    email = serializers.EmailField(required=True, max_length=254)
    password = TextField(write_only=True, max_length=128, trim_whitespace=False)
    invitation = TextField(
        write_only=True, required=False, max_length=200, help_text="The token of an invitation to this address."
    )
    tenant = serializers.SerializerMethodField(help_text="Your personal tenant: what you create belongs to it.")

    class Meta:
        model = User
        fields = ["id", "username", "email", "password", "invitation", "tenant"]
        read_only_fields = ["id"]

    def get_tenant(self, user: User) -> TenantSerializer(read_only=True):  # type: ignore[valid-type]
        return TenantSerializer(user.tenants.order_by("memberships__created_at", "memberships__id").first()).data

    def validate(self, attributes: dict) -> dict:
        try:
            validate_password(attributes["password"], User(username=attributes["username"], email=attributes["email"]))
        except DjangoValidationError as error:
            raise serializers.ValidationError({"password": error.messages}) from None
        return attributes


class CredentialsSerializer(serializers.Serializer):
    username = TextField(max_length=150)
    password = TextField(max_length=128, trim_whitespace=False)


class TokenPairSerializer(serializers.Serializer):
    access = serializers.CharField(help_text="For `Authorization: Bearer …`.")
    refresh = serializers.CharField(help_text="To be exchanged for a new pair, once.")


class RefreshSerializer(serializers.Serializer):
    refresh = TextField(max_length=4096)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        return {"text": super().to_internal_value(data)["refresh"]}


class LogoutSerializer(serializers.Serializer):
    refresh = TextField(max_length=4096, required=False)
