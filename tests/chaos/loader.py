"""The clients: `python -m tests.chaos.loader`. Makes jobs, logs each that was accepted, and interferes a little.

Most of the load goes through the services, as the API's own process would call them; a part goes over HTTP to the
real web process. A job counts as accepted when the call has returned: then, and not before, it is logged. What
failed may or may not have been stored, and no promise was made.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

CREATORS = 3  # threads
LOOK = 0.5  # seconds between looks at the backlog
MOST_BEHIND = 1500  # executions the system may be behind before the load waits
INTERVALS = (1, 1, 2)  # seconds, in turn
PATIENCE = 5  # seconds for an HTTP answer
ACTS_EVERY = 0.6  # seconds between cancels, pauses and edits


class Pace:
    """Lets through so many a second, and none while the system is behind."""

    def __init__(self, rate: float) -> None:
        self.interval = 1 / rate
        self.behind = False
        self._next = time.monotonic()
        self._lock = threading.Lock()

    def wait(self, stop: threading.Event) -> None:
        while self.behind and not stop.wait(0.1):
            pass
        with self._lock:
            now = time.monotonic()
            self._next = max(self._next + self.interval, now - 1.0)  # what was held up is made up for, but no more
            pause = self._next - now
        if pause > 0:
            stop.wait(pause)


class Loader:
    def __init__(self, *, seed: int, rate: float, intervals: int) -> None:
        from accounts.services import register
        from tests.chaos.journal import Journal

        self.dice = random.Random(f"load/{seed}")
        self.journal = Journal(Path(os.environ["CHAOS_FOLDER"]) / "accepted.jsonl")
        self.pace = Pace(rate)
        self.intervals = intervals
        self.stop = threading.Event()
        self.known: list[tuple[str, str]] = []  # recent jobs: id, kind
        self.tenant = register(username="loader", email="loader@example.com", password="correct horse").tenants.get()

    def run(self) -> None:
        """Load until told to stop, then pause what recurs, so that everything can drain."""
        for number in range(self.intervals):
            self._until_it_works(lambda number=number: self.create(self._recurring(number)))
        threads = [
            *(threading.Thread(target=self._loop, args=[self._create_one]) for _ in range(CREATORS)),
            threading.Thread(target=self._loop, args=[self._interfere]),
            threading.Thread(target=self._loop, args=[self._look], name="look"),
            threading.Thread(target=self._post_all),
        ]
        for thread in threads:
            thread.start()
        self.stop.wait()
        for thread in threads:
            thread.join()
        self._pause_what_recurs()
        self.journal.write(event="done")

    def create(self, wanted: dict[str, Any]) -> None:
        from jobs.services import NewJob, create_job

        kind = wanted.pop("kind")
        job = create_job(NewJob(**wanted), tenant=self.tenant, actor=None)
        self._accepted(str(job.id), kind, "services", wanted)

    def _accepted(self, job: str, kind: str, via: str, wanted: dict[str, Any]) -> None:
        schedule = wanted.get("schedule") or {}
        self.journal.write(
            event="accepted",
            job=job,
            kind=kind,
            via=via,
            always_fails=wanted["payload"].get("always_fails", False),
            seconds=schedule.get("seconds"),
        )
        self.known.append((job, kind))
        del self.known[:-400]

    def _recurring(self, number: int) -> dict[str, Any]:
        # Each due time has to run: what the checker looks for must not depend on how long the one before took.
        schedule = {"type": "interval", "seconds": INTERVALS[number % len(INTERVALS)]}
        return self._wanted("interval", schedule=schedule, overlap="allow")

    def _wanted(self, kind: str, **more: Any) -> dict[str, Any]:
        from tests.chaos.tasks import TASKS

        return {"kind": kind, "task": self.dice.choice(TASKS), "payload": {}, "priority": 5} | more

    def _any(self) -> dict[str, Any]:
        """One of the mixture: mostly immediate, some later, slow, flaky or hopeless."""
        from django.utils import timezone

        priority = self.dice.choice((1, 5, 5, 9))
        throw = self.dice.random()
        if throw < 0.15:
            due = timezone.now() + timedelta(seconds=self.dice.uniform(1, 6))
            return self._wanted("once", schedule={"type": "once", "run_at": due.isoformat()}, priority=priority)
        if throw < 0.20:
            return self._wanted("slow", payload={"seconds": round(self.dice.uniform(0.5, 3), 2)}, priority=priority)
        if throw < 0.27:
            return self._wanted("flaky", payload={"fail_times": self.dice.choice((1, 1, 2))}, priority=priority)
        if throw < 0.29:
            return self._wanted("hopeless", payload={"always_fails": True}, max_retries=1, priority=priority)
        if throw < 0.294:  # longer than a lease, and than the grace time of a process told to end
            return self._wanted("long", payload={"seconds": round(self.dice.uniform(6, 9), 2)}, priority=priority)
        return self._wanted("now", payload={"seconds": self.dice.choice((0, 0, 0, 0.02))}, priority=priority)

    def _create_one(self) -> None:
        self.pace.wait(self.stop)
        if not self.stop.is_set():
            self.create(self._any())

    def _interfere(self) -> None:
        """Cancel, pause, resume or edit some job, as people do."""
        from jobs import services
        from jobs.models import Job

        self.stop.wait(ACTS_EVERY)
        if self.stop.is_set() or not self.known:
            return
        name, kind = self.dice.choice(self.known[-40:])
        verb = "cancel"
        if kind == "interval" or self.dice.random() < 0.5:
            recurring = Job.objects.filter(schedule__type="interval", status__in=("ACTIVE", "PAUSED"))
            chosen = self.dice.choice(list(recurring))
            name, verb = str(chosen.pk), "resume" if chosen.status == "PAUSED" else self.dice.choice(("pause", "edit"))
        elif kind == "once" and self.dice.random() < 0.5:
            verb = "edit"
        job = Job.objects.get(pk=name)
        if verb == "edit" and self.dice.random() < 0.4:
            execution = services.run_job_now(job, actor=None)
            self.journal.write(event="accepted", job=name, kind="run_now", via="services", execution=str(execution.pk))
            return
        self.journal.write(event="asked", job=name, verb=verb)
        if verb == "edit":
            services.update_job(job, {"payload": job.payload | {"edited": job.version}}, actor=None)
        else:
            {"cancel": services.cancel_job, "pause": services.pause_job, "resume": services.resume_job}[verb](
                job, actor=None
            )
        self.journal.write(event="done", job=name, verb=verb)

    def _look(self) -> None:
        """How far behind the system is, asked on a link that no fault touches."""
        import psycopg

        self.stop.wait(LOOK)
        with psycopg.connect(os.environ["CHAOS_DIRECT_DATABASE_URL"], autocommit=True, connect_timeout=2) as connection:
            [behind] = connection.execute(
                "SELECT (SELECT count(*) FROM jobs_execution WHERE status IN ('SCHEDULED', 'QUEUED', 'RETRYING'))"
                " + (SELECT count(*) FROM jobs_job WHERE next_run_at <= now())"
            ).fetchone()
        self.pace.behind = behind > MOST_BEHIND

    def _post_all(self) -> None:
        """The part that goes over HTTP: register, sign in, post."""
        token = ""
        while not self.stop.wait(0.15):
            try:
                if not token:
                    who = {"username": "dora", "email": "dora@example.com", "password": "correct horse battery"}
                    try:
                        self._ask("/api/v1/auth/register", who, "")
                    except urllib.error.HTTPError as error:
                        if error.code >= 500:
                            raise
                    token = self._ask("/api/v1/auth/token", who, "")["access"]
                wanted = self._any()
                kind = wanted.pop("kind")
                wanted["priority"] = {1: "low", 5: "normal", 9: "high"}[wanted["priority"]]
                answer = self._ask("/api/v1/jobs", wanted, token)
                self._accepted(answer["id"], kind, "api", wanted)
            except (OSError, ValueError) as error:
                self.journal.write(event="refused", via="api", error=f"{type(error).__name__}: {error}")
                self.stop.wait(0.3)

    def _ask(self, path: str, body: Any, token: str) -> Any:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(os.environ["CHAOS_WEB"] + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def _loop(self, step: Callable[[], None]) -> None:
        from django.db import connections

        while not self.stop.is_set():
            try:
                step()
            except Exception as error:
                self.journal.write(event="refused", via="services", error=f"{type(error).__name__}: {error}")
                connections.close_all()
                self.stop.wait(0.2)
        connections.close_all()

    def _pause_what_recurs(self) -> None:
        from jobs import services
        from jobs.models import Job

        def pause_all() -> None:
            for job in Job.objects.filter(schedule__type="interval", status="ACTIVE"):
                self.journal.write(event="asked", job=str(job.pk), verb="pause")
                services.pause_job(job, actor=None)
                self.journal.write(event="done", job=str(job.pk), verb="pause")

        self._until_it_works(pause_all)

    def _until_it_works(self, act: Callable[[], None]) -> None:
        from django.db import connections

        for _ in range(60):
            try:
                return act()
            except Exception as error:
                self.journal.write(event="refused", via="services", error=f"{type(error).__name__}: {error}")
                connections.close_all()
                time.sleep(0.5)
        return None


def main() -> None:
    django.setup()
    loader = Loader(
        seed=int(os.environ["CHAOS_SEED"]),
        rate=float(os.environ["CHAOS_RATE"]),
        intervals=int(os.environ["CHAOS_INTERVALS"]),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=loader.stop.set).start())
    loader.run()


if __name__ == "__main__":
    main()
