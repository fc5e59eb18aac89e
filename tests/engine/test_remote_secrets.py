"""A worker in another language is given secrets, and its words are kept without them."""

from __future__ import annotations

import pytest

from jobs import services
from jobs.models import Execution, Job
from jobs.redaction import MARK, SEALED
from jobs.sealing import Seal, get_seal
from jobs.services import NewJob
from jobs.states import Status
from tests.engine.test_remote_workers import Worker, held, worker  # noqa: F401 - a fixture

SECRET = "s3cr3t-hunter22"
PAYLOAD = {"url": "https://example.com/cat.mp4", "token": SECRET}


@pytest.fixture
def video(team, system):
    """Make an execution that waits for such a worker."""

    def create(**rest) -> Execution:
        job = services.create_job(NewJob("resize_video", {"url": PAYLOAD["url"]}, **rest), tenant=team, actor=None)
        # The tests' own schema has no secret: what it is at the claim is what counts.
        Job.objects.filter(pk=job.pk).update(payload=get_seal().sealed(PAYLOAD, team.pk))
        system.run_until(lambda: job.executions.exists())
        return job.executions.get()

    return create


def test_it_is_given_the_secret_and_its_result_and_errors_are_kept_without(worker: Worker, video) -> None:  # noqa: F811
    done, failed = video(), video(max_retries=0)
    claims = {claim["execution"]: claim for claim in worker.claim(limit=2)}
    assert [claim["payload"] for claim in claims.values()] == [PAYLOAD, PAYLOAD]

    worker.says("complete", 200, **held(claims[str(done.pk)]), result={"with": SECRET})
    told = {"error": f"refused {SECRET}", "traceback": f"at login({SECRET!r})"}
    worker.says("fail", 200, **held(claims[str(failed.pk)]), **told)

    done.refresh_from_db()
    failed.refresh_from_db()
    assert done.result == {"with": MARK} and SEALED in done.job.payload["token"]
    assert failed.error == f"refused {MARK}" and failed.attempts.get().traceback == f"at login('{MARK}')"


def test_one_whose_secret_no_key_opens_fails_and_is_not_handed_out(worker: Worker, video) -> None:  # noqa: F811
    execution = video(max_retries=0)
    Job.objects.update(payload=Seal(["lost" * 10]).sealed(PAYLOAD, execution.tenant_id))

    assert worker.claim() == []

    execution.refresh_from_db()
    assert execution.status == Status.FAILED and execution.error.startswith("CannotOpen: ")
