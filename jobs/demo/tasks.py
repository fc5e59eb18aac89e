"""Work that does nothing but look like work: quick, slow, unreliable and hopeless. Registered only for the demo."""

from __future__ import annotations

import time
from datetime import timedelta

from pydantic import BaseModel, Field

from execution.registry import task
from execution.run import Run

SOON = timedelta(seconds=1)


class Nothing(BaseModel):
    pass


class Lasting(BaseModel):
    seconds: float = Field(default=3, ge=0, le=60)


class Failing(BaseModel):
    failures: int = Field(default=1, ge=0, le=20, description="How many attempts fail before one completes.")
    error: str = "the warehouse closed the connection"


@task("demo_ping", payload=Nothing)
def ping(payload: Nothing, run: Run) -> dict[str, str]:
    """Succeed at once."""
    return {"pong": run.idempotency_key[:8]}


@task("demo_report", payload=Lasting)
def report(payload: Lasting, run: Run) -> dict[str, int]:
    """Take a few seconds, and report progress and log lines."""
    pages = 10
    for page in range(pages):
        run.progress(page / pages, f"page {page + 1} of {pages}")
        if run.cancelled:
            raise RuntimeError("the report was called off")
        time.sleep(payload.seconds / pages)
        run.log(f"page {page + 1} drawn")
    run.progress(1, "done")
    return {"pages": pages}


@task("demo_sync", payload=Failing, retry_delay=SOON, max_retries=3)
def sync(payload: Failing, run: Run) -> dict[str, int]:
    """Fail on the first attempts, then succeed."""
    time.sleep(0.3)
    if run.attempt <= payload.failures:
        run.log("no answer from the other side", level="warning")
        raise ConnectionError(f"{payload.error} (attempt {run.attempt})")
    return {"rows": 1200 + run.attempt}


@task("demo_charge", payload=Failing, retry_delay=SOON, max_retries=1)
def charge(payload: Failing, run: Run) -> None:
    """Fail on every attempt, so that the execution becomes a dead letter."""
    time.sleep(0.2)
    raise ValueError(f"card declined for invoice {run.execution_id.int % 10_000}")
