"""Progress and lines of an execution over the API."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jobs import ledger, services
from jobs.api import logs
from jobs.models import Execution
from jobs.services import NewJob
from jobs.states import Status
from tests.conftest import client_of
from tests.lives import MAIL


@pytest.fixture
def execution(team) -> Execution:
    job = services.create_job(NewJob("send_email", MAIL), tenant=team, actor=None)
    return services.run_job_now(job, actor=None)


def say(execution: Execution, attempt: int, *texts: str, first: int = 1) -> None:
    now = timezone.now()
    ledger.keep_lines(
        [(execution.pk, attempt, number, now, "info", text) for number, text in enumerate(texts, start=first)]
    )


def read(api, execution: Execution, after: str | None = None) -> dict:
    response = api.get(f"/api/v1/executions/{execution.pk}/logs", {"after": after} if after else {})
    assert response.status_code == 200, response.data
    return response.json()


def test_an_execution_tells_how_far_it_is(api, execution) -> None:
    assert api.get(f"/api/v1/executions/{execution.pk}").json()["progress"] is None

    ledger.keep_progress([(execution.pk, 2, 1, timezone.now(), 0.4, "two of five")])

    progress = api.get(f"/api/v1/executions/{execution.pk}").json()["progress"]
    assert progress.pop("at")
    assert progress == {"fraction": 0.4, "message": "two of five", "attempt": 2}


def test_lines_come_in_their_order_page_by_page_and_are_followed_to_the_end(api, execution, monkeypatch) -> None:
    monkeypatch.setattr(logs, "PAGE", 2)
    say(execution, 2, "four")
    say(execution, 1, "one", "two", "three")

    pages, after = [], None
    for _ in range(3):
        page = read(api, execution, after)
        pages.append([line["text"] for line in page["results"]])
        after = page["after"]
        assert not page["finished"]
    assert pages == [["one", "two"], ["three", "four"], []]

    say(execution, 2, "five", first=2)
    Execution.objects.filter(pk=execution.pk).update(status=Status.COMPLETED, finished_at=timezone.now())
    page = read(api, execution, after)

    assert [line["text"] for line in page["results"]] == ["five"] and page["finished"]
    assert page["results"][0].keys() == {"attempt", "number", "at", "level", "text"}
    assert read(api, execution, page["after"]) == {"results": [], "after": page["after"], "finished": True}


@pytest.mark.parametrize("after", ["x", "1", "1.", "-1.2", "1.2.3", "١.٢", "9999999999.1", "1.1; DROP", "\x00"])
def test_a_place_that_is_none_is_refused_by_name(api, execution, after) -> None:
    response = api.get(f"/api/v1/executions/{execution.pk}/logs", {"after": after})

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "after"


def test_nobody_else_reads_them(execution, charlie, bob, team) -> None:
    say(execution, 1, "for the team")
    address = f"/api/v1/executions/{execution.pk}/logs"

    assert client_of(bob, team).get(address).status_code == 200
    assert client_of(charlie).get(address).status_code == 404
    assert client_of(None).get(address).status_code == 401


@pytest.mark.parametrize("unknown", ["01a1e389-b509-7876-bc9a-f4107a1b7fb7", "nonsense", "%00"])
def test_an_execution_that_is_none_has_no_lines(api, unknown) -> None:
    assert api.get(f"/api/v1/executions/{unknown}/logs").status_code == 404
