"""Route names are unique, and links on pages lead to pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.template.defaulttags import URLNode
from django.template.loader import get_template
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from accounts import keys
from accounts.models import Tenant, User
from accounts.models.api_key import Scope
from jobs.states import Status
from jobs.stats.snapshot import snapshots
from tests.api.test_stats import job_of, run_of

FOR_PROGRAMS = ("api",)  # namespaces whose routes do not answer with pages
TEMPLATES = Path(settings.BASE_DIR) / "templates"


def routes(resolver: URLResolver, namespace: str = "") -> Iterator[tuple[str, str]]:
    """The full name and the path of each named route."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from routes(entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace)
        elif isinstance(entry, URLPattern) and entry.name:
            yield f"{namespace}{entry.name}", str(entry.pattern)


def linked_names() -> Iterator[tuple[str, str]]:
    """The template and the name in each of its `{% url %}` tags."""
    for path in sorted(TEMPLATES.rglob("*.html")):
        name = str(path.relative_to(TEMPLATES))
        for link in get_template(name).template.nodelist.get_nodes_by_type(URLNode):
            yield name, link.view_name.resolve({})


def test_no_two_routes_share_a_name() -> None:
    names = Counter(name for name, _ in routes(get_resolver()))

    assert names["keys"] == names["api:keys"] == 1
    assert {name: count for name, count in names.items() if count > 1} == {}


def test_templates_link_to_routes_that_exist_and_answer_with_pages() -> None:
    known = {name for name, _ in routes(get_resolver())}
    linked = set(linked_names())

    assert ("dashboard/base.html", "keys") in linked and ("dashboard/first_job.html", "keys") in linked
    assert {(template, name) for template, name in linked if name not in known} == set()
    assert {(template, name) for template, name in linked if name.split(":")[0] in FOR_PROGRAMS} == set()


@pytest.mark.django_db
def test_every_link_of_the_dashboard_leads_to_a_page(alice: User, team: Tenant) -> None:
    snapshots.forget()
    client = Client(headers={"accept": "text/html"})
    client.force_login(alice)
    assert 'href="/keys">API key' in client.get("/").content.decode()  # for those who have no job yet
    job = job_of(team, "Nightly")
    run_of(job, timezone.now(), Status.FAILED, error="no paper", fingerprint="paper")
    keys.create_key(tenant=team, creator=alice, name="deploys", scopes=[Scope.READ])

    answers: dict[str, tuple[int, str]] = {}
    ahead = ["/"]
    while ahead:
        path = ahead.pop()
        answer = client.get(path, follow=True)
        answers[path] = (answer.status_code, answer.headers["Content-Type"].partition(";")[0])
        if answer.headers["Content-Type"].startswith("text/html"):
            page = answer.content.decode()
            found = {unescape(href) for href in re.findall(r'<a [^>]*href="([^"#]+)"', page)}
            paths = {f"{path.partition('?')[0]}{href}" if href.startswith("?") else href for href in found}
            ahead += [one for one in paths if one not in answers and one not in ahead]

    assert {"/jobs", f"/jobs/{job.pk}", "/executions", "/dead-letters", "/keys", "/api/docs"} <= answers.keys()
    assert {path: answer for path, answer in answers.items() if answer != (200, "text/html")} == {}
