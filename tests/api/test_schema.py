"""The API's description is generated once, and cheap to ask for."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView

from jobs.api.schema import SchemaView

JSON = {"accept": "application/vnd.oai.openapi+json"}


class CountingGenerator(SchemaGenerator):
    made = 0

    def get_schema(self, *args: Any, **options: Any) -> Any:
        CountingGenerator.made += 1
        return super().get_schema(*args, **options)


@pytest.fixture
def counting(monkeypatch) -> type[CountingGenerator]:
    """A process that has not been asked yet."""
    monkeypatch.setattr(SchemaView, "_descriptions", {})
    monkeypatch.setattr(SpectacularAPIView, "generator_class", CountingGenerator)
    monkeypatch.setattr(CountingGenerator, "made", 0)
    return CountingGenerator


def test_the_description_is_generated_once_however_many_ask_and_however_they_spell_it(counting) -> None:
    paths = ["/api/schema", "/api/schema", "/api/schema?version=2", "/api/schema?lang=de", "/api/schema?x=y"]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda path: Client().get(path, headers=JSON), paths))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert counting.made == 1


def test_who_has_a_copy_is_told_that_it_is_still_the_same(counting, client) -> None:
    first = client.get("/api/schema", headers=JSON)

    again = client.get("/api/schema", headers=JSON | {"if-none-match": first["ETag"]})

    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert "max-age" in first["Cache-Control"]


def test_it_is_sent_compressed_to_who_can_read_that(counting, client) -> None:
    plain = client.get("/api/schema", headers=JSON)
    small = client.get("/api/schema", headers=JSON | {"accept-encoding": "gzip"})

    assert gzip.decompress(small.content) == plain.content
    assert small["ETag"] != plain["ETag"] and "Accept-Encoding" in small["Vary"]


def test_each_format_has_a_text_of_its_own(counting, client) -> None:
    yaml = client.get("/api/schema")

    assert yaml["Content-Type"].startswith("application/vnd.oai.openapi;")
    assert yaml.content.startswith(b"openapi:")
    assert client.get("/api/schema", headers=JSON).json()["info"]["title"] == "Punctual"
    assert client.get("/api/schema?format=json").json()["info"]["title"] == "Punctual"
