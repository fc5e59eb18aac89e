"""Images over the API: what is taken, what is refused, and what is handed out."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Membership
from execution.models import Upload
from execution.uploads import find_upload, open_upload, save_upload
from jobs.models import Job
from tests.conftest import client_of
from tests.pictures import picture

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/images"


def send(client, content: bytes | None = None, *, called: str = "cat.png", **wishes):
    file = SimpleUploadedFile(called, picture() if content is None else content)
    return client.post(ADDRESS, {"file": file, **wishes}, format="multipart")


def test_an_image_becomes_a_job(api, team) -> None:
    answer = send(api, width=100, height=50, fit="cover", greyscale="true", format="webp", quality=70)

    assert answer.status_code == 202
    job = answer.json()
    assert (job["task"], job["name"], job["status"]) == ("image_thumbnail", "cat.png", "ACTIVE")
    payload = job["payload"]
    assert open_upload(team.pk, payload.pop("upload")).read() == picture()
    assert payload == {
        "width": 100,
        "height": 50,
        "fit": "cover",
        "greyscale": True,
        "format": "webp",
        "quality": 70,
    }


def test_without_wishes_the_defaults_are_the_tasks_own(api) -> None:
    payload = send(api).json()["payload"]

    assert payload | {"upload": ""} == {"upload": "", "fit": "inside", "greyscale": False, "quality": 85}


@pytest.mark.parametrize(
    ("wishes", "field", "says"),
    [
        ({"width": 0}, "width", "1"),
        ({"width": 4097}, "width", "4096"),
        ({"width": "wide"}, "width", "integer"),
        ({"width": "9" * 5000}, "width", ""),
        ({"height": -1}, "height", "1"),
        ({"fit": "stretch"}, "fit", "stretch"),
        ({"fit": "cover", "width": 10}, "fit", "both"),
        ({"greyscale": "perhaps"}, "greyscale", "boolean"),
        ({"greyscale": "0"}, "greyscale", "boolean"),
        ({"greyscale": "on"}, "greyscale", "boolean"),
        ({"format": "gif"}, "format", "gif"),
        ({"format": "../png"}, "format", "not a valid"),
        ({"quality": 100}, "quality", "95"),
        ({"widht": 5}, "widht", "Allowed: file, width"),
        ({"upload": "x"}, "upload", "cannot be set"),
        ({"fit": "a\x00b"}, "fit", ""),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_with_its_name(api, wishes, field, says) -> None:
    answer = send(api, **wishes)

    assert answer.status_code == 400 and answer["Content-Type"] == "application/problem+json"
    assert [says in fault["message"] for fault in answer.json()["errors"] if fault["field"] == field] == [True]
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    "content", [b"<svg/>", b"GIF", b"%PDF-1.7", b"<html><script>", b"\x00" * 100, b"II*\x00", b"not an image"]
)
def test_what_is_no_image_is_refused_whatever_it_is_called(api, content) -> None:
    answer = send(api, content, called="cat.png")

    assert answer.status_code == 400
    [fault] = answer.json()["errors"]
    assert fault["field"] == "file" and "JPEG, PNG, WebP or GIF" in fault["message"]
    assert not Upload.objects.exists() and not Job.objects.exists()


def test_an_empty_file_and_none_are_refused(api) -> None:
    for body in ({"file": SimpleUploadedFile("x.png", b"")}, {"file": "text"}, {"width": 5}, {}):
        answer = api.post(ADDRESS, body, format="multipart")
        assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "file"


def test_a_file_that_is_too_large_is_refused_unread(api, settings) -> None:
    settings.UPLOAD_MAX_BYTES = 1000

    assert send(api, picture() + bytes(1000)).status_code == 413
    assert send(api, picture() + bytes(200_000)).status_code == 413
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"file": "x"}', "application/json", 415),
        (b"file=x", "application/x-www-form-urlencoded", 415),
        (b"", "multipart/form-data; boundary=x", 400),
        (b"garbage", "multipart/form-data; boundary=x", 400),
        (b"garbage", "multipart/form-data", 400),
        (b"garbage", "multipart/form-data; boundary=" + "x" * 300, 415),
        (b"--x\r\nContent-Disposition: form-data", "multipart/form-data; boundary=x", 400),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' * 2000 + b"\r\n--x--",
            "multipart/form-data; boundary=x",
            400,
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nc\r\n' * 200 + b"--x--",
            "multipart/form-data; boundary=x",
            400,
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="fit"\r\n\r\n' + b"a" * 5_000_000 + b"\r\n--x--",
            "multipart/form-data; boundary=x",
            413,
        ),
    ],
)
def test_a_body_that_is_no_form_is_refused(api, body, kind, status) -> None:
    answer = api.generic("POST", ADDRESS, body, content_type=kind)

    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    "called", ["../../../etc/passwd", "a" * 500, "..", "con\r\nX: y", "é\u202egnp.exe", "a/b\\c.png"]
)
def test_what_a_file_is_called_leads_nowhere(api, team, called) -> None:
    answer = send(api, called=called if called != ".." else "x")

    assert answer.status_code == 202
    upload = find_upload(team.pk, answer.json()["payload"]["upload"])
    assert upload.place == f"{team.pk.hex}/{upload.name}"


def test_whoever_may_only_look_may_not_send(bob, team) -> None:
    Membership.objects.filter(user=bob, tenant=team).update(role="viewer")

    assert send(client_of(bob, team)).status_code == 403
    assert client_of(None).post(ADDRESS).status_code == 401


class TestFetching:
    @pytest.fixture
    def image(self, team) -> str:
        return save_upload(team.pk, picture("webp"), content_type="image/webp", filename="thumbnail.webp", made=True)

    def test_it_is_handed_out_as_what_it_is_and_nothing_else(self, api, image) -> None:
        answer = api.get(f"{ADDRESS}/{image}")

        assert b"".join(answer.streaming_content) == picture("webp")
        assert answer["Content-Type"] == "image/webp"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer["Content-Disposition"] == 'inline; filename="thumbnail.webp"'
        assert answer["Cache-Control"] == "private, max-age=3600, immutable"
        assert "Authorization" in answer["Vary"] and "X-Tenant-ID" in answer["Vary"]
        assert answer["Content-Length"] == str(len(picture("webp")))

    def test_a_copy_at_hand_is_not_sent_again(self, api, image) -> None:
        tag = api.get(f"{ADDRESS}/{image}")["ETag"]

        answer = api.get(f"{ADDRESS}/{image}", HTTP_IF_NONE_MATCH=tag)

        assert (answer.status_code, answer["ETag"]) == (304, tag)

    @pytest.mark.parametrize(
        "accept", ["image/webp", "image/*", "*/*", "image/avif,image/webp,*/*;q=0.8", "application/json"]
    )
    def test_whatever_kind_is_asked_for(self, api, image, accept) -> None:
        assert api.get(f"{ADDRESS}/{image}", HTTP_ACCEPT=accept).status_code == 200
        missing = api.get(f"{ADDRESS}/{'0' * 32}", HTTP_ACCEPT=accept)
        assert (missing.status_code, missing.json()["status"]) == (404, 404)

    def test_its_tenant_alone_can_fetch_it(self, image, bob, team, charlie) -> None:
        assert client_of(bob, team).get(f"{ADDRESS}/{image}").status_code == 200
        assert client_of(charlie).get(f"{ADDRESS}/{image}").status_code == 404
        assert client_of(charlie, team).get(f"{ADDRESS}/{image}").status_code == 403
        assert client_of(None).get(f"{ADDRESS}/{image}").status_code == 401

    def test_what_was_sent_in_is_not_handed_out(self, api) -> None:
        upload = send(api).json()["payload"]["upload"]

        assert api.get(f"{ADDRESS}/{upload}").status_code == 404

    @pytest.mark.parametrize(
        "name", ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "a" * 3000, "%00", "é", "punctual.sqlite3"]
    )
    def test_a_name_that_is_none_is_not_found(self, api, image, name) -> None:
        assert api.get(f"{ADDRESS}/{name}").status_code == 404
