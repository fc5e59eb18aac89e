"""The tasks that come along, from the request to the result, through everything in between."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from PIL import Image

from execution.models import Upload
from execution.uploads import save_upload
from jobs.models import Execution
from jobs.states import Status
from tests.conftest import client_of
from tests.misbehaving import MisbehavingServer
from tests.pictures import picture, wide_bomb


@pytest.fixture
def peer(settings) -> Iterator[MisbehavingServer]:
    server = MisbehavingServer()
    settings.HTTP_ALLOWED_HOSTS = (f"127.0.0.1:{server.port}",)
    yield server
    server.stop()


def send(client, content: bytes, **wishes):
    return client.post("/api/v1/images", {"file": SimpleUploadedFile("cat.png", content), **wishes}, format="multipart")


def finished(job: dict) -> bool:
    return Execution.objects.filter(job_id=job["id"], status__in=[Status.COMPLETED, Status.FAILED]).exists()


def test_an_image_is_sent_and_a_small_one_is_fetched(system, api, bob, team, charlie) -> None:
    job = send(api, picture("jpeg", size=(640, 480)), width=100, greyscale=True, format="webp").json()

    system.run_until(lambda: finished(job))

    execution = Execution.objects.get(job_id=job["id"])
    assert execution.status == Status.COMPLETED, execution.error
    address = f"/api/v1/images/{execution.result['name']}"
    answer = api.get(address, HTTP_ACCEPT="image/webp")
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
    image = Image.open(io.BytesIO(b"".join(answer.streaming_content)))
    assert (image.format, image.size) == ("WEBP", (100, 75))
    assert (execution.result["width"], execution.result["height"]) == (100, 75)
    assert client_of(bob, team).get(address).status_code == 200
    assert client_of(charlie).get(address).status_code == 404
    assert client_of(None).get(address).status_code == 401


def test_a_bomb_fails_once_and_is_not_tried_again(system, api) -> None:
    job = send(api, wide_bomb()).json()

    system.run_until(lambda: finished(job))

    execution = Execution.objects.get(job_id=job["id"])
    assert (execution.status, execution.attempt) == (Status.FAILED, 1)
    assert "81,000,000 pixels" in execution.error


def test_nobody_has_an_image_made_of_anothers_upload(system, api, charlie) -> None:
    upload = send(api, picture()).json()["payload"]["upload"]

    job = client_of(charlie).post("/api/v1/jobs", {"task": "image_thumbnail", "payload": {"upload": upload}}).json()
    system.run_until(lambda: finished(job))

    execution = Execution.objects.get(job_id=job["id"])
    assert execution.status == Status.FAILED and "No upload is named" in execution.error


def test_files_that_nobody_uses_any_more_are_pruned_by_the_recoverer(system, team) -> None:
    old, used = (save_upload(team.pk, b"content") for _ in range(2))
    Upload.objects.filter(pk=old).update(used_at=timezone.now() - timedelta(days=365))

    system.recoverer.tick()

    assert [upload.name for upload in Upload.objects.all()] == [used]


def test_a_request_is_made_and_its_answer_kept(system, api, peer) -> None:
    payload = {"url": peer.url("/fine"), "body": {"hello": "world"}}

    job = api.post("/api/v1/jobs", {"task": "http_request", "payload": payload}).json()
    system.run_until(lambda: finished(job))

    execution = Execution.objects.get(job_id=job["id"])
    assert execution.status == Status.COMPLETED, execution.error
    assert (execution.result["status"], execution.result["body"]) == (200, "Grüße")
    assert [heard.headers["idempotency-key"] for heard in peer.heard] == [str(execution.id)]


def test_a_target_that_asks_for_time_gets_it(system, api, peer) -> None:
    payload = {"url": peer.url("/later-in-seconds")}

    job = api.post("/api/v1/jobs", {"task": "http_request", "payload": payload}).json()
    system.run_until(lambda: Execution.objects.filter(job_id=job["id"], status=Status.RETRYING).exists())

    execution = Execution.objects.get(job_id=job["id"])
    assert execution.attempts.get().error.startswith("RetryLater: The target answered 429")
    assert (execution.not_before - execution.attempts.get().finished_at).total_seconds() > 100


def test_a_target_that_will_not_change_its_mind_is_asked_once(system, api, peer) -> None:
    job = api.post("/api/v1/jobs", {"task": "http_request", "payload": {"url": peer.url("/gone")}}).json()
    system.run_until(lambda: finished(job))

    execution = Execution.objects.get(job_id=job["id"])
    assert (execution.status, len(peer.heard)) == (Status.FAILED, 1)
