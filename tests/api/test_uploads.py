"""Files that tasks read and make: whose they are, and how long they are kept."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from execution.models import Upload
from execution.uploads import (
    UnknownUpload,
    UploadTooLarge,
    delete_upload,
    find_upload,
    open_upload,
    prune_uploads,
    save_upload,
)
from tests.bucket import Bucket

pytestmark = pytest.mark.django_db

LONG = timedelta(days=365)


def test_what_is_saved_is_read_back_by_its_name(team) -> None:
    name = save_upload(team.pk, b"\x00\xff" * 1000, content_type="application/pdf", filename="Bill.pdf")

    with open_upload(team.pk, name) as file:
        assert file.read() == b"\x00\xff" * 1000
    found = find_upload(team.pk, name)
    assert (found.filename, found.content_type, found.size) == ("Bill.pdf", "application/pdf", 2000)


def test_an_open_file_can_be_saved(team) -> None:
    name = save_upload(team.pk, io.BytesIO(b"content"))

    assert open_upload(team.pk, name).read() == b"content"


def test_the_same_content_saved_twice_is_two_files(team) -> None:
    assert save_upload(team.pk, b"same") != save_upload(team.pk, b"same")


def test_another_tenant_cannot_open_it(team, charlie) -> None:
    name = save_upload(team.pk, b"secret")

    with pytest.raises(UnknownUpload):
        open_upload(charlie.tenants.get().pk, name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "a" * 5000,
        "\x00",
        "%2e%2e",
        "é",
        "01a1e389-b509-7876-bc9a-f4107a1b7fb7",
        "0" * 32,
    ],
)
def test_a_name_that_is_none_opens_nothing(team, name) -> None:
    save_upload(team.pk, b"secret")

    with pytest.raises(UnknownUpload):
        open_upload(team.pk, name)


@pytest.mark.parametrize(
    "filename", ["../../../tmp/x", "/etc/cron.d/x", "a\x00b", "x" * 1000, "\ud800", "con\r\nBcc: x"]
)
def test_what_the_sender_calls_it_decides_nothing(team, filename) -> None:
    name = save_upload(team.pk, b"content", filename=filename)

    place = find_upload(team.pk, name).place
    assert place == f"{team.pk.hex}/{name}" and default_storage.exists(place)


def test_a_file_that_is_too_large_is_not_kept(team, settings) -> None:
    settings.UPLOAD_MAX_BYTES = 10

    with pytest.raises(UploadTooLarge, match="at most 10"):
        save_upload(team.pk, b"x" * 11)
    assert not Upload.objects.exists()


def test_a_file_that_the_storage_lost_is_unknown(team) -> None:
    name = save_upload(team.pk, b"content")
    default_storage.delete(find_upload(team.pk, name).place)

    with pytest.raises(UnknownUpload, match="gone"):
        open_upload(team.pk, name)


def test_a_deleted_file_is_gone_from_the_storage_too(team) -> None:
    name = save_upload(team.pk, b"content")
    place = find_upload(team.pk, name).place

    delete_upload(team.pk, name)
    delete_upload(team.pk, name)  # nothing is left to delete, which is no error

    assert not default_storage.exists(place) and not Upload.objects.exists()


def test_old_files_are_pruned_a_few_at_a_time(team) -> None:
    old = [save_upload(team.pk, b"old") for _ in range(3)]
    places = [find_upload(team.pk, name).place for name in old]
    Upload.objects.update(used_at=timezone.now() - LONG)
    young = save_upload(team.pk, b"young")

    assert [prune_uploads(timezone.now(), limit=2) for _ in range(3)] == [2, 1, 0]

    assert not any(default_storage.exists(place) for place in places)
    assert open_upload(team.pk, young).read() == b"young"


def test_a_file_in_use_is_not_pruned_however_old_it_is(team) -> None:
    name = save_upload(team.pk, b"logo")
    Upload.objects.update(used_at=timezone.now() - LONG)

    open_upload(team.pk, name).close()

    assert prune_uploads(timezone.now()) == 0
    assert open_upload(team.pk, name).read() == b"logo"


def test_files_may_be_kept_on_s3(team, settings) -> None:
    bucket = Bucket()
    s3 = {"BACKEND": "execution.storage.s3.S3Storage", "OPTIONS": bucket.options()}
    settings.STORAGES = settings.STORAGES | {"default": s3}

    name = save_upload(team.pk, b"content")

    assert list(bucket.objects) == [f"/files/{team.pk.hex}/{name}"]
    assert open_upload(team.pk, name).read() == b"content"
    delete_upload(team.pk, name)
    assert bucket.objects == {}
    bucket.stop()


def test_what_a_storage_that_is_away_keeps_is_pruned_later(team, settings) -> None:
    save_upload(team.pk, b"content")
    Upload.objects.update(used_at=timezone.now() - LONG)
    bucket = Bucket()
    bucket.stop()
    here, away = settings.STORAGES, {"BACKEND": "execution.storage.s3.S3Storage", "OPTIONS": bucket.options()}

    settings.STORAGES = here | {"default": away}
    assert prune_uploads(timezone.now()) == 0

    settings.STORAGES = here
    assert prune_uploads(timezone.now()) == 1
