"""Signing in and out, registering, and choosing a tenant, in the browser."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.views import LoginView, LogoutView
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from accounts import attempts, services
from accounts.api.serializers import TAKEN, RegistrationSerializer
from jobs.dashboard.viewer import choose
from jobs.dashboard.windows import guarded, window

sign_in = guarded(
    LoginView.as_view(
        template_name="dashboard/sign_in.html",
        redirect_authenticated_user=True,
        extra_context={"demo": settings.DEMO and settings.EMBEDDED},
    )
)
sign_out = guarded(LogoutView.as_view(next_page="sign-in"))


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


@guarded
def register(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("overview")
    form = Registration(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            attempts.count_registration(request)
            user = services.register(**form.checked.validated_data)
        except IntegrityError:  # somebody was quicker
            form.add_error("username", TAKEN)
        except attempts.TooManyAttempts as error:
            form.add_error(None, str(error.detail))
        else:
            login(request, user)
            return redirect("overview")
    return render(request, "dashboard/register.html", {"form": form})


@require_POST
@window
def choose_tenant(request: HttpRequest) -> HttpResponse:
    choose(request, request.POST.get("tenant", ""))
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return redirect(back if safe else "overview")
