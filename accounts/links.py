"""Links that are mailed: they lead to this installation, whatever host a request names."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse


def link_to(request: HttpRequest, page: str, **query: Any) -> str:
    """The address of a page. Without `PUBLIC_URL` its host is the request's, which `ALLOWED_HOSTS` has checked."""
    path = f"{reverse(page)}?{urlencode(query)}"
    return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
