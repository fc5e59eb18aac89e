"""A mail server that is away for a minute while a thousand mails wait: `python -m tests.outage [MAILS] [SECONDS]`.

Runs Punctual's own processes on the servers that the environment names, by default embedded, in a database of its own.
Says how often the server was knocked at meanwhile, and what became of the mails; fails unless each arrived once.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from typing import Any

PATIENCE = 300.0  # seconds for the mails to arrive once the server is back


def main(mails: int = 1000, seconds: float = 60.0) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    os.environ.setdefault("LOG_LEVEL", "WARNING")  # the mail server tells every word
    with tempfile.TemporaryDirectory() as place:
        os.environ["PUNCTUAL_VAR"] = place
        import django
        from django.test.utils import setup_databases, teardown_databases

        django.setup()
        databases = setup_databases(verbosity=0, interactive=False)
        try:
            return _watch(mails, seconds)
        finally:
            _leave_nothing()
            teardown_databases(databases, verbosity=0)


def _watch(mails: int, seconds: float) -> int:
    from jobs.models import Attempt, Execution
    from tests.door import Door
    from tests.whole.mailserver import MailServer
    from tests.whole.processes import free_port, ready_address, start

    server = MailServer()
    server.start()
    door = Door("127.0.0.1", server.port)
    door.shut = True
    _create(mails)
    url = f"smtp://127.0.0.1:{door.port}"
    everything = start("manage.py", "run_all", "--port", str(free_port()), EMAIL_URL=url, RETRY_BASE="2")
    try:
        print(f"{mails} mails, server away for {seconds:g} s: {ready_address(everything)}", flush=True)
        _tell(seconds, lambda: f"{door.knocks} knocks, {_states()}")
        knocks, door.shut = door.knocks, False
        began = time.monotonic()
        done = Execution.objects.completed()
        while done.count() < mails and time.monotonic() - began < PATIENCE:
            _tell(2, lambda: f"{len(server.inbox)} mails have arrived, {_states()}")
        took = time.monotonic() - began
    finally:
        everything.send_signal(signal.SIGTERM)
        everything.communicate(timeout=60)
        server.stop()
    arrived = Counter(mail["Subject"] for mail in server.inbox)
    print(
        f"\nWhile it was away: {knocks} connections in {seconds:g} s, for {mails} mails."
        f"\nOnce it was back: {len(arrived)} of {mails} arrived within {took:.0f} s, {len(server.inbox)} in all."
        f"\nDead letters: {Execution.objects.dead().count()}. Attempts that failed: {Attempt.objects.count()}."
    )
    return 0 if len(arrived) == mails == len(server.inbox) and not Execution.objects.dead().exists() else 1


def _create(mails: int) -> None:
    from accounts.services import register
    from jobs import services
    from jobs.services import NewJob

    team = register(username="alice", email="alice@example.com", password="correct horse battery").tenants.get()
    new = [NewJob("send_email", {"to": "a@example.com", "subject": f"mail {n}", "body": "."}) for n in range(mails)]
    services.create_jobs(new, tenant=team, actor=None)


def _tell(seconds: float, what: Any) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(5.0, left))
        print(f"  {what()}", flush=True)


def _states() -> str:
    from django.db.models import Count

    from jobs.models import Execution

    counted = Execution.objects.values_list("status").annotate(Count("pk")).order_by("status")
    return ", ".join(f"{count} {status.lower()}" for status, count in counted)


def _leave_nothing() -> None:
    from tests.engine.system import leave_nothing

    leave_nothing()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
