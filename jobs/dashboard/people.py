"""The pages of one's own account: its password, its address, and signing out everywhere."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts import attempts, passwords, verification
from accounts.links import link_to
from jobs.dashboard.accounts import refused
from jobs.dashboard.windows import done, form_target, guarded, window

CURRENT = {"autocomplete": "current-password"}
NEW = {"autocomplete": "new-password"}


class NewPassword(forms.Form):
    """A password, typed once: browsers show it, and remember it."""

    new_password = forms.CharField(max_length=128, strip=False, widget=forms.PasswordInput(NEW))


class PasswordChange(NewPassword):
    current_password = forms.CharField(max_length=128, strip=False, widget=forms.PasswordInput(CURRENT))
    field_order = ["current_password", "new_password"]


class ResetRequest(forms.Form):
    email = forms.EmailField(max_length=254, widget=forms.EmailInput({"autocomplete": "email", "autofocus": True}))


@window
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/account.html", {"page": "account"})


@window
def change_password(request: HttpRequest) -> HttpResponse:
    form = PasswordChange(request.POST or None)
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data
        try:
            user = passwords.change(request, request.user, current=sent["current_password"], new=sent["new_password"])
        except passwords.WrongPassword as error:
            form.add_error("current_password", str(error))
        except ValidationError as error:
            form.add_error("new_password", error)
        except attempts.TooManyAttempts as error:
            form.add_error(None, str(error.detail))
        else:
            login(request, user)  # this browser stays
            return done(request, "The password is changed. All other devices are signed out.", "account")
    return render(request, "dashboard/change_password.html", {"form": form, "page": "account"})


@form_target
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    request.user.sign_out_everywhere()
    return redirect("sign-in")


@form_target
def request_verification(request: HttpRequest) -> HttpResponse:
    try:
        address = verification.request_proof(request.user, link=_link(request, "verify-address"))
    except (verification.NoAddress, attempts.TooManyAttempts) as error:
        messages.error(request, str(getattr(error, "detail", error)))
        return redirect("account")
    return done(request, f"A link is on its way to {address}.", "account")


@window
def verify_address(request: HttpRequest) -> HttpResponse:
    """Where the mailed link leads to. To look changes nothing: programs that read mail open links too."""
    if request.method != "POST":
        return render(request, "dashboard/verify_address.html", {"token": request.GET.get("token", "")})
    try:
        verification.verify(request.POST.get("token", ""), user=request.user)
    except verification.BadEmailProof as error:
        return refused(request, "Verify your address", str(error), status=403)
    return done(request, f"{request.user.email} is verified.", "account")


@guarded
def forgot_password(request: HttpRequest) -> HttpResponse:
    form = ResetRequest(request.POST or None)
    told = ""
    if request.method == "POST" and form.is_valid():
        try:
            told = passwords.request_reset(request, form.cleaned_data["email"], link=_link(request, "reset-password"))
        except attempts.TooManyAttempts as error:
            form.add_error(None, str(error.detail))
    context = {"form": form, "told": told, "can_mail": passwords.can_mail()}
    return render(request, "dashboard/forgot_password.html", context)


@guarded
def reset_password(request: HttpRequest) -> HttpResponse:
    token = (request.POST if request.method == "POST" else request.GET).get("token", "")
    form = NewPassword(request.POST or None)
    try:
        user = passwords.user_of(token)
        if request.method == "POST" and form.is_valid():
            passwords.reset(request, token, new=form.cleaned_data["new_password"])
            return done(request, "The password is changed. Sign in with it.", "sign-in")
    except passwords.BadResetToken as error:
        return refused(request, "Reset your password", str(error), status=403)
    except ValidationError as error:
        form.add_error("new_password", error)
    return render(request, "dashboard/reset_password.html", {"form": form, "token": token, "account": user})


def _link(request: HttpRequest, page: str) -> Any:
    return lambda token: link_to(request, page, token=token)
