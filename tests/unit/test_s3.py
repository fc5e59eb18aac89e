"""Files on S3: the real client, against a real server that checks every signature by itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile, File

from execution.storage.s3 import S3Storage, StorageUnavailable
from execution.storage.signature import Signer
from tests.bucket import BUCKET, Bucket


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = Bucket()
    yield server
    server.stop()


def storage_on(bucket: Bucket, **changes: str) -> S3Storage:
    return S3Storage(**bucket.options(**changes))


@pytest.fixture
def storage(bucket) -> S3Storage:
    return storage_on(bucket)


@pytest.mark.parametrize("content", [b"", b"text", bytes(range(256)) * 10_000])
def test_what_is_saved_is_read_back(storage, content) -> None:
    assert storage.save("tenant/name", ContentFile(content)) == "tenant/name"

    assert storage.exists("tenant/name") and storage.size("tenant/name") == len(content)
    with storage.open("tenant/name") as file:
        assert file.read() == content


def test_an_open_file_is_saved_from_its_beginning(storage) -> None:
    file = io.BytesIO(b"whole")
    file.seek(3)

    storage.save("name", File(file, "name"))

    assert storage.open("name").read() == b"whole"


def test_a_deleted_file_is_gone_and_deleting_it_again_no_error(storage, bucket) -> None:
    storage.save("name", ContentFile(b"x"))

    storage.delete("name")
    storage.delete("name")

    assert bucket.objects == {} and not storage.exists("name")


def test_a_file_that_is_not_there_is_not_found(storage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.open("name")
    with pytest.raises(FileNotFoundError):
        storage.size("name")


@pytest.mark.parametrize("name", ["with space", "a+b", "ümlaut", "100%", "a=b&c", "~tilde", "q?x"])
def test_names_are_signed_as_they_are_sent(storage, name) -> None:
    storage.save(name, ContentFile(b"x"))

    assert storage.open(name).read() == b"x"


def test_a_prefix_keeps_systems_apart(bucket) -> None:
    storage_on(bucket, prefix="staging.").save("name", ContentFile(b"x"))

    assert list(bucket.objects) == [f"/{BUCKET}/staging.name"]
    assert not storage_on(bucket).exists("name")


@pytest.mark.parametrize("changes", [{"secret_key": "another"}, {"access_key": "AKIDOTHER"}, {"region": "us-east-1"}])
def test_whoever_has_another_key_gets_nothing(bucket, storage, changes) -> None:
    storage.save("name", ContentFile(b"x"))

    with pytest.raises(StorageUnavailable, match="403"):
        storage_on(bucket, **changes).open("name")


@pytest.mark.parametrize("status", [500, 503, 301])
def test_a_storage_that_cannot_now_is_told_from_one_that_has_no_such_file(bucket, storage, status) -> None:
    bucket.refusal = status

    for act in (storage.exists, storage.open, storage.delete, storage.size):
        with pytest.raises(StorageUnavailable, match=str(status)):
            act("name")


def test_half_a_file_is_none(bucket, storage) -> None:
    storage.save("name", ContentFile(b"x" * 1000))
    bucket.breaks_off = True

    with pytest.raises(StorageUnavailable, match="500 bytes"):
        storage.open("name")


def test_a_storage_that_is_away_is_an_error_of_the_network(bucket) -> None:
    storage = storage_on(bucket, endpoint="http://127.0.0.1:1")

    with pytest.raises(OSError):
        storage.exists("name")


@pytest.mark.parametrize(
    "changes", [{"endpoint": "s3.example.com"}, {"endpoint": "ftp://x"}, {"access_key": ""}, {"secret_key": ""}]
)
def test_settings_that_cannot_work_are_told(bucket, changes) -> None:
    with pytest.raises(ImproperlyConfigured, match="S3_"):
        storage_on(bucket, **changes)


def test_the_signature_is_the_one_of_the_published_example() -> None:
    signer = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")

    headers = signer.headers(
        "GET", "examplebucket.s3.amazonaws.com", "/", b"", datetime(2013, 5, 24, tzinfo=UTC), query="lifecycle="
    )

    assert headers["authorization"].endswith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
