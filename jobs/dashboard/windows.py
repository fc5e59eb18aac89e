"""What every page begins and ends with: somebody who is signed in, a strict policy for the browser, and live updates.

The script asks for a live page again each second, as `?live=` and the tenant that the page was drawn for: then only the
contents of `<main>` are drawn, and the answer is 304 while nothing has changed. These fragments do not contain a CSRF
token, because it is masked anew for each answer: the script adds the token from its cookie to a form that is submitted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import is_valid_path
from django.utils.cache import get_conditional_response
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from accounts.tenancy import MayOnlyLook, UnknownTenant
from jobs.dashboard.viewer import Viewer

LIVE = "live"  # the query's word
SCOPE = "scope"  # of a form about a whole tenant
OTHER_TENANT = "Another tenant was chosen since this page was opened. Open the page again."
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
            back = _page_to_return_to(request)
            return redirect(
                f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': back}) if back else ''}".rstrip("?")
            )
        request.viewer = Viewer(request)
        try:
            _check_scope(request)
            return view(request, *args, **kwargs)
        except (UnknownTenant, MayOnlyLook) as error:
            return render(request, "dashboard/refused.html", {"reason": str(error)}, status=403)
        except ObjectDoesNotExist as error:  # deleted by somebody else since the view read it
            raise Http404 from error

    return guarded(answer)


def form_target(view: View) -> View:
    """What a form is sent to. Somebody who opens its address, as after an error, is led to the page above it."""
    posted = window(view)

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return posted(request, *args, **kwargs) if request.method == "POST" else redirect(_page_above(request.path))

    return answer


def _page_above(path: str) -> str:
    while path := path.rpartition("/")[0]:
        if is_valid_path(path):
            return path
    return "/"


def _page_to_return_to(request: HttpRequest) -> str:
    """This page; or, as nobody can return to a form that was sent, the page that the form was on."""
    if request.method == "GET":
        return request.get_full_path()
    referer = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(
        referer, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    if not ours:
        return ""
    parts = urlsplit(referer)
    # One slash: two begin the name of another host.
    return f"/{parts.path.lstrip('/')}{'?' if parts.query else ''}{parts.query}"


def _check_scope(request: HttpRequest) -> None:
    """Refuse a form about a whole tenant that was drawn before another tab chose another one. Raises UnknownTenant."""
    drawn_for = request.POST.get(SCOPE)
    if drawn_for is not None and drawn_for != request.viewer.scope_name:
        raise UnknownTenant(OTHER_TENANT)


def is_live(request: HttpRequest) -> bool:
    return LIVE in request.GET


def shown(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The whole page; or the fragment that is polled, and 304 if the browser has it already.

    409 if another tenant was chosen since the page was drawn: its frame still names the former one.
    """
    if not is_live(request):
        return render(request, template, {**context, "bare": False})
    drawn_for = request.GET[LIVE]
    if drawn_for and drawn_for != request.viewer.scope_name:
        return HttpResponse(OTHER_TENANT, status=409, content_type="text/plain")
    response = render(request, template, {**context, "bare": True})
    # A weak tag: fragments of a strong one would not be compressed, see `scheduler_project.compression`.
    mark = f'W/"{blake2b(response.content, digest_size=12).hexdigest()}"'
    response.headers["ETag"] = mark
    return get_conditional_response(request, etag=mark, response=response)


def must_change(request: HttpRequest, tenant: Any) -> None:
    """Raise MayOnlyLook for those who may not act here."""
    if not request.viewer.may_change(tenant):
        raise MayOnlyLook("You have read access only. Ask an owner of the tenant to make you a member.")


def done(request: HttpRequest, message: str, to: str, *args: Any) -> HttpResponse:
    messages.success(request, message)
    return redirect(to, *args)
