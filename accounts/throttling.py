"""Limits the requests of each tenant, and of each key within it.

Answers say what is left. While the buckets are away every request is let through: limits are there to keep the service
up, and would take it down. Requests that neither a token nor a key speaks for are not counted here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.limits import Allowance, BucketsUnavailable, Draw, get_buckets
from accounts.models import Standing

MINUTE = timedelta(minutes=1)


class TooManyRequests(Throttled):
    def __init__(self, draw: Draw) -> None:
        what = draw.allowance.name.partition(":")[0]
        super().__init__(
            wait=draw.retry_after,
            detail=f"More than {draw.allowance.limit:,} requests a minute by this {what}. Wait, and spread them out.",
        )


class FairShare(BaseThrottle):
    def allow_request(self, request: Request, view: Any) -> bool:
        allowances = allowances_of(request.user)
        if not allowances:
            return True
        try:
            draws = get_buckets().take(allowances)
        except BucketsUnavailable:
            return True
        scarcest = min(draws, key=lambda draw: (draw.admitted, draw.remaining))
        request._request.rate_limit = scarcest
        if not scarcest.admitted:
            raise TooManyRequests(scarcest)
        return True


def allowances_of(user: Any) -> list[Allowance]:
    """What a request of this user counts against, narrowest first."""
    standing: Standing | None = getattr(user, "standing", None)
    if standing is None:
        return []
    allowances = []
    if standing.key is not None:
        limit = _own_or(standing.key.rate_limit, settings.KEY_RATE_LIMIT)
        allowances.append(Allowance(f"key:{standing.key.pk}", limit, MINUTE) if limit else None)
    if standing.membership is not None:
        tenant = standing.membership.tenant
        limit = _own_or(tenant.rate_limit, settings.RATE_LIMIT)
        allowances.append(Allowance(f"tenant:{tenant.pk}", limit, MINUTE) if limit else None)
    elif settings.RATE_LIMIT:  # the header names a tenant that is not theirs
        allowances.append(Allowance(f"user:{user.pk}", settings.RATE_LIMIT, MINUTE))
    return [one for one in allowances if one]


def _own_or(own: int | None, otherwise: int) -> int:
    return otherwise if own is None else own


class RateLimitHeaders:
    """Middleware: what is left, on every answer to a request that was counted."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        draw: Draw | None = getattr(request, "rate_limit", None)
        if draw is not None:
            response["RateLimit-Limit"] = str(draw.allowance.limit)
            response["RateLimit-Remaining"] = str(draw.remaining)
            response["RateLimit-Reset"] = str(draw.full_in_seconds)
            response["RateLimit-Policy"] = f"{draw.allowance.limit};w={MINUTE // timedelta(seconds=1)}"
        return response
