"""Signing in and out, registering, and choosing a tenant, in the browser."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.views import LoginView, LogoutView
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from accounts import attempts, demo, inviting, registration, verification
from accounts.api.serializers import TAKEN, RegistrationSerializer
from accounts.links import link_to
from accounts.quota import QuotaExceeded
from jobs.dashboard.viewer import choose
from jobs.dashboard.windows import done, form_target, guarded

sign_in = guarded(
    LoginView.as_view(
        template_name="dashboard/sign_in.html",
        redirect_authenticated_user=True,
        extra_context={
            "demo": settings.DEMO and settings.EMBEDDED and not demo.exposure(),
            "registration": lambda: settings.REGISTRATION,  # a function: read when the page is drawn
        },
    )
)
signed_out = guarded(LogoutView.as_view(next_page="sign-in"))


def sign_out(request: HttpRequest) -> HttpResponse:
    # Not a `form_target`: a user who may not see any page must still be able to sign out.
    return signed_out(request) if request.method == "POST" else redirect("overview")


class Registration(forms.Form):
    """The fields; what is allowed in them, the API's own serializer says."""

    username = forms.CharField(max_length=150, widget=forms.TextInput({"autocomplete": "username", "autofocus": True}))
    email = forms.EmailField(max_length=254, widget=forms.EmailInput({"autocomplete": "email"}))
    password = forms.CharField(
        max_length=128, strip=False, widget=forms.PasswordInput({"autocomplete": "new-password"})
    )

    def clean(self) -> dict[str, Any]:
        fields = super().clean()
        if not self.errors:
            self.checked = RegistrationSerializer(data=fields)
            if not self.checked.is_valid():
                for name, faults in self.checked.errors.items():
                    self.add_error(name if name in self.fields else None, [str(fault) for fault in faults])
        return fields


REFUSALS = (
    registration.RegistrationRefused,
    inviting.NoSuchInvitation,
    inviting.ForSomebodyElse,
    QuotaExceeded,
)


@guarded
def register(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("overview")
    token = (request.POST if request.method == "POST" else request.GET).get("invitation", "")
    try:
        if request.method != "POST":
            invited = registration.check_open(token)
            form = Registration(initial={"email": invited.email} if invited else {})
        else:
            registration.admit(request, token)
            form = Registration(request.POST)
            if form.is_valid():
                user = registration.sign_up(**form.checked.validated_data, invitation=token)
                verification.request_first_proof(
                    user, link=lambda proof: link_to(request, "verify-address", token=proof)
                )
                login(request, user)
                return redirect("overview")
    except REFUSALS as error:
        return refused(request, "Registration", str(error), status=403)
    except attempts.TooManyAttempts as error:
        return refused(request, "Registration", str(error.detail), status=429)
    except IntegrityError:  # somebody was quicker
        form.add_error("username", TAKEN)
    return render(request, "dashboard/register.html", {"form": form, "invitation": token})


@guarded
def invitation(request: HttpRequest) -> HttpResponse:
    """Where a mailed invitation leads to. To look changes nothing: programs that read mail open links too."""
    token = (request.POST if request.method == "POST" else request.GET).get("token", "")
    try:
        found = inviting.find(token)
        if request.method == "POST" and request.user.is_authenticated:
            joined = inviting.accept(token, user=request.user)
            choose(request, str(joined.tenant.pk))
            return done(request, f"You are a {joined.role} of {joined.tenant}.", "overview")
    except REFUSALS as error:
        return refused(request, "Invitation", str(error), status=403)
    context = {"invitation": found, "token": token, "closed": registration.is_closed()}
    return render(request, "dashboard/invitation.html", context)


def refused(request: HttpRequest, what: str, reason: str, *, status: int) -> HttpResponse:
    return render(request, "dashboard/door_refused.html", {"what": what, "reason": reason}, status=status)


@form_target
def choose_tenant(request: HttpRequest) -> HttpResponse:
    choose(request, request.POST.get("tenant", ""))
    back = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    # Not `redirect`: to that, a word without a slash is the name of a view.
    return HttpResponseRedirect(back if ours and back.startswith("/") else resolve_url("overview"))
