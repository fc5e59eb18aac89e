"""No value of any query parameter, on any page or route, is answered with a 5xx."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator

from accounts.models import User
from jobs import services
from jobs.models import Execution, Job
from tests.conftest import PASSWORD

ROOT = Path(__file__).parents[2]
NOBODY = "00000000-0000-8000-8000-000000000000"


def cursor(text: str) -> str:
    return quote(b64encode(text.encode()).decode())


BAD = {  # as they stand in an address
    "NUL": "a%00b",
    "5,000 digits": "9" * 5000,
    "full-width digits": quote("１０"),
    "lone surrogate": "%ED%A0%80",
    "word": "abc",
}
WORSE = BAD | {
    "leading zeros": "0000000001000",
    "underscore": "1_0",
    "exponent": "1e3",
    "64 bits": str(2**63),
    "negative": "-1",
    "broken UTF-8": "%FF%FE",
    "empty": "",
    "id": NOBODY,
    "year 9999": quote("9999-12-31T23:59:59.999999-14:00"),
    "year 1": quote("0001-01-01T00:00:00+14:00"),
    "wildcards": "%25_%5C%27",
    "5,000 characters": "x" * 5000,
}
CURSORS = {
    "year 9999": cursor("p=" + quote("9999-12-31T23:59:59.999999-14:00")),
    "year 1": cursor("r=1&p=" + quote("0001-01-01 00:00:00+14:00")),
    "another spelling of a time": cursor("p=" + quote("2026-W47-1T00:00:00+00:00")),
    "huge offset": cursor("o=" + "9" * 5000 + f"&p={NOBODY}"),
    "offset": cursor("o=5&p=" + quote("2026-11-16 08:46:55+00:00")),
    "full-width digits": cursor("o=" + quote("９")),
    "NUL": cursor("p=%00"),
    "lone surrogate": cursor("p=%ED%A0%80"),
    "without end": cursor("p=" + "9" * 20_000),
    "many fields": cursor("&".join(f"a{number}=1" for number in range(2000))),
}


def operations() -> Iterator[tuple[str, str, list[str]]]:
    """Each operation of the API's description: its method, its path, and the names of its query parameters."""
    for path, methods in SchemaGenerator().get_schema(request=None, public=True)["paths"].items():
        for method, told in methods.items():
            yield method, path, [one["name"] for one in told.get("parameters", []) if one["in"] == "query"]


def asked_for(path: str, names: Iterable[str], values: Iterable[str] = tuple(BAD.values())) -> Iterator[str]:
    for name, value in product(sorted(names), values):
        yield f"{path}?{name}={value}"
    yield f"{path}?a%00b=1"


def refused_badly(client: Client, method: str, addresses: Iterator[str]) -> list[str]:
    client.raise_request_exception = False
    answers = ((one, client.generic(method.upper(), one)) for one in addresses)
    return [f"{method} {one[:150]}: {answer.status_code}" for one, answer in answers if answer.status_code >= 500]


@pytest.fixture
def job(team, api) -> Job:
    api.post("/api/v1/jobs", {"task": "http_request", "payload": {"url": "https://example.com/"}})
    return Job.objects.get()


def filled(path: str, job: Job) -> str:
    path = path.replace("{tenant_id}", str(job.tenant_id)).replace("{job_id}", str(job.pk))
    return re.sub(r"\{[a-z_]+\}", str(job.pk) if path.startswith("/api/v1/jobs") else NOBODY, path)


def test_no_query_of_any_operation_is_answered_with_a_500(api, job) -> None:
    failed = []
    for method, path, names in operations():
        if method == "get":
            failed += refused_badly(api, method, asked_for(filled(path, job), names, WORSE.values()))
        if "cursor" in names:
            failed += refused_badly(api, method, asked_for(filled(path, job), ["cursor"], CURSORS.values()))

    assert not failed, "\n".join(failed)


def test_no_part_of_a_path_is_answered_with_a_500(api) -> None:
    failed = []
    for method, path, _ in operations():
        if "{" in path:
            failed += refused_badly(api, method, (re.sub(r"\{[a-z_]+\}", value, path) for value in BAD.values()))

    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    "number", ["0000000001000", "010", "%EF%BC%91%EF%BC%90", "1_0", "%2010", "%2B10", "1e1", "10.0"]
)
def test_a_number_has_one_spelling_wherever_it_is_asked_for(api, job, number) -> None:
    for path in ("jobs?page_size=", "schedules/load?hours=", f"jobs/{job.pk}/occurrences?limit=", "keys?page_size="):
        answer = api.get(f"/api/v1/{path}{number}")
        assert answer.status_code == 400, (path, answer.content[:200])
        assert answer.json()["errors"]


@pytest.mark.parametrize("path", ["audit", "jobs", "executions", "keys", "tenants", "incidents"])
def test_a_cursor_that_is_not_ours_is_refused(api, path) -> None:
    for name, value in CURSORS.items():
        if (path, name) != ("audit", "offset"):  # events of the same instant are counted
            assert api.get(f"/api/v1/{path}?cursor={value}").status_code == 400, name


@pytest.fixture
def staff(alice) -> Client:
    """Alice, who looks at everything."""
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    client = Client(raise_request_exception=False)
    assert client.login(username="alice", password=PASSWORD)
    return client


def names_read(module: str) -> set[str]:
    """The names of parameters that a module of pages reads."""
    text = (ROOT / module).read_text()
    return set(re.findall(r"(?:GET|wanted|asked)(?:\.get\(|\.getlist\(|\[)\"(\w+)\"", text))


@pytest.mark.parametrize("scope", ["", "all"])
def test_no_query_of_a_page_of_the_dashboard_is_answered_with_a_500(staff, job, scope) -> None:
    if scope:
        staff.post("/tenant", {"tenant": scope})
    pages = {"/": "overview", "/jobs": "jobs", "/executions": "executions", "/dead-letters": "dead_letters"}
    failed = []
    for page, module in (pages | {"/keys": "keys"}).items():
        names = names_read(f"jobs/dashboard/{module}.py") | {"live"}
        if "s" in page:
            names |= names_read("jobs/dashboard/paging.py")
        failed += refused_badly(staff, "get", asked_for(page, names))

    assert not failed, "\n".join(failed)


def test_executions_of_a_task_are_listed_on_the_dashboard(staff, job) -> None:
    services.run_job_now(job, actor=None)

    assert str(Execution.objects.get().pk) in staff.get("/executions", {"task": "http_request"}).content.decode()
    assert str(Execution.objects.get().pk) not in staff.get("/executions", {"task": "send_email"}).content.decode()


@pytest.mark.parametrize(
    "back", ["abc", "overview", "jobs.dashboard.overview", "//example.com", "https://example.com/"]
)
def test_a_choice_of_tenant_leads_back_to_a_page_of_ours_or_to_the_first(staff, back) -> None:
    assert staff.post("/tenant", {"tenant": "all", "next": back})["Location"] == "/"
    assert staff.post("/tenant", {"tenant": "all", "next": "/jobs?q=a"})["Location"] == "/jobs?q=a"


def test_no_form_of_the_dashboard_is_answered_with_a_500(staff, job) -> None:
    forms = {
        "/tenant": ("tenant", "next"),
        "/dead-letters/act": ("act", "fingerprint", "task"),
        "/keys": ("name", "scopes", "days"),
        f"/executions/{NOBODY}/replay-edited": ("payload",),
        "/sign-in": ("username", "password", "next"),
    }
    failed = []
    for page, names in forms.items():
        for name, value in product(names, BAD.values()):
            body = "&".join(f"{one}={value if one == name else 'abc'}" for one in names)
            answer = staff.post(page, body, content_type="application/x-www-form-urlencoded")
            if answer.status_code >= 500:
                failed.append(f"{page} {name}={value[:50]}: {answer.status_code}")

    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("app", ["jobs", "accounts and others"])
def test_no_query_of_a_list_of_the_admin_is_answered_with_a_500(staff, job, app) -> None:
    failed = []
    for model, one in admin.site._registry.items():
        if (model._meta.app_label == "jobs") != (app == "jobs"):
            continue
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        names = {getattr(each, "parameter_name", f"{each}__exact") for each in one.list_filter}
        names |= {*getattr(one, "indexed_params", ()), getattr(one, "tab_param", "") or "pk"}
        names |= {"q", "o", "p", "after", "pk__in", "_facets"}
        values = *BAD.values(), WORSE["year 9999"], WORSE["year 1"], "NaN"
        failed += refused_badly(staff, "get", asked_for(address, map(str, names), values))
        fields = (field.name for field in model._meta.get_fields() if not field.is_relation)
        lookups = (f"{name}{lookup}" for name in fields for lookup in ("", "__contains", "__gte"))
        failed += refused_badly(staff, "get", asked_for(address, lookups, values[-3:]))

    assert not failed, "\n".join(failed)


def test_no_query_of_a_page_of_the_admin_is_answered_with_a_500(staff, job) -> None:
    pages = {
        "dead-letters/": "dead_letters",
        "calendar/": "calendar",
        "workers/": "workers",
        "jobs/job/load/": "preview",
    }
    failed = []
    for page, module in pages.items():
        names = names_read(f"jobs/admin/{module}.py") | {"_popup"}
        failed += refused_badly(staff, "get", asked_for(f"/admin/{page}", names))
    looked_up = "app_label=jobs&model_name=job&field_name=tenant&term="
    failed += refused_badly(staff, "get", (f"/admin/autocomplete/?{looked_up}{value}" for value in BAD.values()))

    assert not failed, "\n".join(failed)


def test_a_null_character_is_refused_with_what_to_do(api, staff) -> None:
    for client, path in ((api, "/api/v1/jobs?name=%00"), (staff, "/jobs?q=%00"), (staff, "/admin/jobs/job/?q=%00")):
        answer = client.get(path)
        assert answer.status_code == 400 and "Remove it" in answer.content.decode()
    assert api.get("/api/v1/jobs?name=%00")["Content-Type"] == "application/problem+json"
    assert staff.post("/tenant", {"tenant": "a\x00"}).status_code == 400


@pytest.mark.parametrize("path", ["/account", "/sign-in", "/admin/"])
def test_a_null_character_in_a_cookie_is_refused(client, db, path) -> None:
    answer = client.get(path, HTTP_COOKIE='sessionid="\\000aaaaaaaaaaaaaaa"')

    assert answer.status_code == 400 and "U+0000" in answer.content.decode()


@pytest.mark.parametrize("page", ["change", "delete", "history"])
def test_a_null_character_in_a_path_leads_nowhere(staff, page) -> None:
    assert staff.get(f"/admin/execution/destination/%00/{page}/").status_code == 404
