"""Which answers are compressed, and that none of them can be told from its length."""

from __future__ import annotations

import gzip

import pytest
from django.http import FileResponse, HttpResponse
from django.test import RequestFactory

from scheduler_project.compression import MIN_BYTES, CompressAnswers

LONG = "long " * MIN_BYTES


def answered(response: HttpResponse, accepted: str = "gzip, br") -> HttpResponse:
    request = RequestFactory().get("/", headers={"accept-encoding": accepted})
    return CompressAnswers(lambda _: response)(request)


@pytest.mark.parametrize(
    "content_type", ["text/html; charset=utf-8", "application/json", "application/problem+json", "text/css"]
)
def test_long_texts_are_compressed_for_who_can_read_that(content_type) -> None:
    answer = answered(HttpResponse(LONG, content_type=content_type))
    plain = answered(HttpResponse(LONG, content_type=content_type), accepted="br")

    assert gzip.decompress(answer.content).decode() == LONG == plain.content.decode()
    assert int(answer["Content-Length"]) == len(answer.content) < len(LONG)
    assert answer["Vary"] == plain["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "response",
    [
        lambda: HttpResponse("short", content_type="application/json"),
        lambda: HttpResponse(LONG, content_type="image/png"),
        lambda: HttpResponse(LONG, headers={"Content-Encoding": "br"}),
        lambda: FileResponse([LONG.encode()], content_type="text/plain"),
    ],
    ids=["short", "an image", "compressed already", "streamed"],
)
def test_what_would_gain_nothing_is_left_as_it_is(response) -> None:
    assert answered(response()).headers == response().headers


def test_the_same_page_has_another_length_each_time() -> None:
    lengths = {len(answered(HttpResponse(LONG)).content) for _ in range(50)}

    assert len(lengths) > 1


@pytest.mark.django_db
def test_the_tag_of_a_long_job_can_be_sent_back_by_who_changes_it(api) -> None:
    long = {"task": "send_email", "payload": {"to": "alice@example.com", "subject": "Hello", "body": LONG}}
    made = api.post("/api/v1/jobs", long).json()
    answer = api.get(f"/api/v1/jobs/{made['id']}", headers={"accept-encoding": "gzip"})

    changed = api.patch(f"/api/v1/jobs/{made['id']}", {"name": "new"}, headers={"If-Match": answer["ETag"]})

    assert len(answer.content) > MIN_BYTES and changed.status_code == 200


@pytest.mark.django_db
def test_lists_are_compressed(api) -> None:
    for number in range(5):
        mail = {"to": "alice@example.com", "subject": f"Hello {number}", "body": "There"}
        api.post("/api/v1/jobs", {"task": "send_email", "payload": mail})

    plain = api.get("/api/v1/jobs")
    answer = api.get("/api/v1/jobs", headers={"accept-encoding": "gzip"})

    assert answer["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.content) == plain.content
