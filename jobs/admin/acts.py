"""Acts on what somebody chose in a list or looks at: asked about, done, and told what became of each.

An act here is a service with words around it. What the service refuses is an outcome like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from accounts.models import User
from jobs.admin.lists import address_of

MOST_AT_ONCE = 1000  # rows an act: as many as the API takes in one call
MOST_LISTED = 50  # of them on the page that asks


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one."""

    subject: Any
    done: bool
    said: str


Do = Callable[[Sequence[Any], User], Iterable[Outcome]]


@dataclass(frozen=True)
class Act:
    name: str  # in addresses and forms
    label: str  # on the button
    icon: str
    means: str  # what will happen, as the page that asks says it
    do: Do
    fits: Callable[[Any], bool]  # whether the button is offered beside one
    grave: bool = False  # cannot be taken back

    def as_action(self) -> Callable[..., HttpResponse]:
        """The same for what is chosen in a list."""

        @admin.action(description=self.label, permissions=["operate"])
        def run(model_admin: Any, request: HttpRequest, chosen: QuerySet) -> HttpResponse:
            return model_admin.act_on(request, self, list(chosen[:MOST_AT_ONCE]))

        run.__name__ = self.name
        return run


class WithActs:
    """Of an admin whose rows can be acted on: in the list with a page that asks, and from a row's own page."""

    acts: tuple[Act, ...] = ()

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_act"
        own = path("<path:object_id>/act/<slug:act>/", self.admin_site.admin_view(self.act_view), name=name)
        return [own, *super().get_urls()]

    def acts_for(self, request: HttpRequest, one: Model) -> list[Act]:
        return [act for act in self.acts if act.fits(one)] if self.has_operate_permission(request, one) else []

    def act_view(self, request: HttpRequest, object_id: str, act: str) -> HttpResponse:
        """One act on one row: a page that asks, and the doing of it."""
        one = self.get_object(request, object_id)
        wanted = next((known for known in self.acts if known.name == act), None)
        if one is None or wanted is None:
            raise Http404
        if not self.has_operate_permission(request, one):
            raise PermissionDenied
        if request.method != "POST":
            return self._ask(request, wanted, [one], back=address_of(one))
        for outcome in wanted.do([one], request.user):
            self.message_user(request, outcome.said, messages.SUCCESS if outcome.done else messages.WARNING)
        return redirect(address_of(one))

    def act_on(
        self, request: HttpRequest, act: Act, chosen: list[Any], *, action: str = "", back: str = ""
    ) -> HttpResponse:
        """What was chosen in a list: asked about first, then done, with a page that tells what became of each.

        `action` is where the answer is sent to, and `back` where one returns to: the list itself, if nothing is said.
        """
        back = back or request.get_full_path()
        if "confirmed" not in request.POST:
            return self._ask(request, act, chosen, action=action, back=back)
        outcomes = list(act.do(chosen, request.user))
        return self._page(
            request,
            "admin/punctual/outcome.html",
            act.label,
            act=act,
            outcomes=[(outcome, address_of(outcome.subject)) for outcome in outcomes],
            done=sum(outcome.done for outcome in outcomes),
            back=back,
        )

    def _ask(self, request: HttpRequest, act: Act, chosen: list[Any], *, back: str, action: str = "") -> HttpResponse:
        return self._page(
            request,
            "admin/punctual/confirm.html",
            act.label,
            act=act,
            chosen=chosen,
            listed=[(one, address_of(one)) for one in chosen[:MOST_LISTED]],
            unlisted=max(0, len(chosen) - MOST_LISTED),
            checkbox=ACTION_CHECKBOX_NAME,
            action=action,
            back=back,
        )

    def _page(self, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
        shared = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, template, shared | context)


class KeepsInput:
    """Of an admin whose service may refuse a valid form, because of what others did meanwhile or a quota.

    The form is then shown again as it was typed, with the reason. Its class is a `jobs.admin.forms.RefusableForm`.
    """

    refusals: tuple[type[Exception], ...] = ()

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except self.refusals as error:
            request.refusal = str(error)
            return super().changeform_view(request, *args, **kwargs)

    def get_form(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        form = super().get_form(request, *args, **options)  # a class of this request's own
        form.refusal = getattr(request, "refusal", "")
        return form


def each(do: Callable[[Any, User], str], *refusals: type[Exception]) -> Do:
    """An act that is done one by one; `do` returns what to say of it, and a refusal says it itself."""

    def run(chosen: Sequence[Any], actor: User) -> Iterable[Outcome]:
        for one in chosen:
            try:
                yield Outcome(one, True, do(one, actor))
            except refusals as error:
                yield Outcome(one, False, str(error))

    return run
