"""What every page begins and ends with: somebody who is signed in, a strict policy for the browser, and live updates.

A page that is live is asked for again each second, as `?live`: then only what is inside `<main>` is drawn, and answered
with 304 while nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache

from accounts.tenancy import MayOnlyLook, UnknownTenant
from jobs.dashboard.viewer import Viewer

LIVE = "live"  # the query's word
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

View = Callable[..., HttpResponse]


def guarded(view: View) -> View:
    """A page that runs nothing but our own script and asks nobody else for anything."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["Referrer-Policy"] = "same-origin"
        return response

    return never_cache(answer)


def window(view: View) -> View:
    """A page for those who are signed in; `request.viewer` is who, and what they look at."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            if is_live(request):
                return HttpResponse("Sign in again.", status=401, content_type="text/plain")
            back = urlencode({"next": request.get_full_path()}) if request.method == "GET" else ""
            return redirect(f"{resolve_url(settings.LOGIN_URL)}?{back}".rstrip("?"))
        request.viewer = Viewer(request)
        try:
            return view(request, *args, **kwargs)
        except (UnknownTenant, MayOnlyLook) as error:
            return render(request, "dashboard/refused.html", {"reason": str(error)}, status=403)

    return guarded(answer)


def is_live(request: HttpRequest) -> bool:
    return LIVE in request.GET


def shown(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The page, or only what changes in it; nothing at all when it is as the browser has it."""
    live = is_live(request)
    response = render(request, template, {**context, "bare": live})
    if not live:
        return response
    mark = f'"{blake2b(response.content, digest_size=12).hexdigest()}"'
    if request.headers.get("If-None-Match") == mark:
        response = HttpResponseNotModified()
    response.headers["ETag"] = mark
    return response


def must_change(request: HttpRequest, tenant: Any) -> None:
    """Raise MayOnlyLook for those who may not act here."""
    if not request.viewer.may_change(tenant):
        raise MayOnlyLook("You may look at this, but not change it. Ask an owner of the tenant to make you a member.")


def done(request: HttpRequest, message: str, to: str, *args: Any) -> HttpResponse:
    messages.success(request, message)
    return redirect(to, *args)
