"""Who a worker in another language is: `Authorization: Worker-Key pwk_…`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from execution.models import WorkerKey
from execution.worker_keys import recognise

KEYWORD = "Worker-Key"


class Worker:
    """Stands where a person does in other requests; its key is in `request.auth`."""

    is_authenticated = True
    is_active = True

    def __init__(self, key: WorkerKey) -> None:
        self.pk = self.id = key.pk
        self.username = str(key)


class WorkerKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Worker, WorkerKey] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != KEYWORD.lower():
            return None
        key = recognise(secret.strip())
        if key is None:
            raise AuthenticationFailed("This worker key is unknown, expired or revoked. Make a new one.")
        return Worker(key), key

    def authenticate_header(self, request: Request) -> str:
        return KEYWORD


class HasWorkerKey(BasePermission):
    message = "Only a worker may do this, with a key of its own. People make such keys at /api/v1/worker-keys."

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.auth, WorkerKey)


class WorkerKeyScheme(OpenApiAuthenticationExtension):
    """The same in the API's description; to have it here is what registers it."""

    target_class = WorkerKeyAuthentication
    name = "workerKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": f"`{KEYWORD} pwk_…`, with a key from `POST /api/v1/worker-keys` or `make_worker_key`.",
        }
