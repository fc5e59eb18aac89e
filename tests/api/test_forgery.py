"""A page of somebody else's cannot act in the name of whoever looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import User

pytestmark = pytest.mark.django_db

MACHINES = ("/api/", "/healthz", "/readyz", "/metrics")  # take no session, or do nothing


def addresses(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    """One of every route, with something in the place of each parameter."""
    for entry in resolver.url_patterns:
        path = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry, path)
        elif isinstance(entry, URLPattern):
            yield path


def filled(path: str) -> str:
    parts = [str(uuid4()) if "<" in part else part for part in path.split("/")]
    return "/".join(parts)


PAGES = sorted(
    {filled(path) for path in addresses(get_resolver()) if "(" not in path and not path.startswith(MACHINES)}
)


def test_there_are_pages_to_ask() -> None:
    assert len(PAGES) > 40 and any(page.startswith("/admin/") for page in PAGES)


@pytest.fixture
def signed_in() -> Client:
    root = User.objects.create_superuser("root", "root@example.com", "correct horse battery")
    client = Client(enforce_csrf_checks=True)
    client.force_login(root)
    return client


def test_no_page_takes_a_form_that_it_did_not_draw(signed_in) -> None:
    taken = {page: signed_in.post(page, {"anything": "1"}).status_code for page in PAGES}

    assert {page: status for page, status in taken.items() if status != 403} == {}


def test_the_api_does_not_know_the_session_of_a_browser(signed_in) -> None:
    assert signed_in.get("/api/v1/jobs").status_code == 401
    assert signed_in.post("/api/v1/jobs", {}).status_code == 401


def test_a_form_is_taken_with_the_token_of_the_cookie_and_with_no_other(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    client.get("/keys")
    token = client.cookies["csrftoken"].value
    key = {"name": "deploys", "scopes": ["read"], "days": "30"}

    assert client.post("/keys", {**key, "csrfmiddlewaretoken": token[::-1]}).status_code == 403
    assert client.post("/keys", {**key, "csrfmiddlewaretoken": token}).status_code == 200
