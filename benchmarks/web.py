"""How many jobs a second the API takes: one by one from several clients, and by the thousand.

Against `run_all`, over connections that are kept. The jobs are due tomorrow: what running them would cost is measured
elsewhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from benchmarks.scratch import running_system
from benchmarks.sizes import Sizes
from tests.whole.person import Person

CLIENTS = 4  # as many as the server has threads
WARM_UP = 20  # requests a client
PATIENCE = 60  # seconds for an answer
A_CALL = 1_000  # jobs in a bulk call
ABSENT = (404, 405)  # what an address that is no route answers, or one that looks like a job's


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, asked: str, status: int, body: bytes) -> None:
        super().__init__(f"{asked} was answered with {status}: {body[:300].decode(errors='replace')}")
        self.status = status


class Client:
    """One connection, kept."""

    def __init__(self, person: Person) -> None:
        self._connection = HTTPConnection(urlsplit(person.address).netloc, timeout=PATIENCE)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {person.token}"}

    def get(self, path: str) -> bytes:
        return self._ask("GET", path)

    def post(self, path: str, body: bytes) -> bytes:
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status >= 300:
            raise Refused(f"{method} {path}", answer.status, told)
        return told


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    with running_system() as person:
        told: dict[str, Any] = {"clients": CLIENTS, "post_jobs_per_s": round(_one_by_one(person, sizes.posting), 1)}
        say(f"{told['post_jobs_per_s']:,} jobs/s posted one by one")
        try:
            told["bulk_create_per_s"] = round(_by_the_thousand(person, sizes.bulk_calls), 1)
        except Refused as refusal:
            if refusal.status not in ABSENT:
                raise
            told |= {"bulk_create_per_s": None, "note": "there is no POST /api/v1/jobs/bulk here"}
    say(f"{told['bulk_create_per_s'] or 'no'} jobs/s posted by the thousand")
    return told


def _one_by_one(person: Person, seconds: float) -> float:
    body = json.dumps(job_of_tomorrow()).encode()
    clients = [Client(person) for _ in range(CLIENTS)]

    def post_until(end: float, client: Client) -> int:
        posted = 0
        while time.monotonic() < end:
            client.post("/api/v1/jobs", body)
            posted += 1
        return posted

    with ThreadPoolExecutor(CLIENTS) as threads:
        for client in clients:
            for _ in range(WARM_UP):
                client.post("/api/v1/jobs", body)
        begun = time.monotonic()
        counts = threads.map(lambda client: post_until(begun + seconds, client), clients)
        return sum(counts) / (time.monotonic() - begun)


def _by_the_thousand(person: Person, calls: int) -> float:
    body = json.dumps({"jobs": [job_of_tomorrow()] * A_CALL}).encode()
    client = Client(person)
    client.post("/api/v1/jobs/bulk", body)
    begun = time.monotonic()
    created = sum(json.loads(client.post("/api/v1/jobs/bulk", body))["created"] for _ in range(calls))
    if created != calls * A_CALL:
        raise RuntimeError(f"{created} of {calls * A_CALL} jobs were created.")
    return created / (time.monotonic() - begun)


def job_of_tomorrow() -> dict[str, Any]:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return {
        "task": "send_email",
        "payload": {"to": "alice@example.com", "subject": "Hello", "body": "There"},
        "schedule": {"type": "once", "run_at": tomorrow.isoformat()},
    }
