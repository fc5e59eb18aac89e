"""Whether this process lives, and whether what it needs answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from threading import Thread

from django.db import connection
from django.http import HttpRequest, JsonResponse

from execution.broker import get_broker
from scheduler_project.past_the_pool import reach
from scheduling.index import get_due_index

PATIENCE = 5.0  # seconds for all of them: whoever probes gives up soon after, and would not learn which it was
WHY_PATIENCE = 2  # seconds more to learn why the database does not answer


def healthz(request: HttpRequest) -> JsonResponse:
    """Alive: nothing else is asked, so that a lost server does not get every web process restarted."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Each dependency by name, with its reason where it fails."""
    answers = _answers(
        {
            "database": _database,
            "due_index": lambda: get_due_index().ping(),
            "broker": lambda: get_broker().ping(),
        }
    )
    # Jobs are accepted as long as the database answers; the rest catches up.
    ready = answers["database"] == "ok"
    if not ready:
        answers["database"] = _why(answers["database"])
    return JsonResponse({"status": "ok" if ready else "unavailable", **answers}, status=200 if ready else 503)


def _answers(checks: Mapping[str, Callable[[], None]]) -> dict[str, str]:
    """All are asked at once: one that keeps silent must not use up the time of the others."""
    asked = {name: _begun(check) for name, check in checks.items()}
    wait(asked.values(), PATIENCE)
    return {
        name: answer.result() if answer.done() else f"no answer within {PATIENCE:g} s" for name, answer in asked.items()
    }


def _begun(check: Callable[[], None]) -> Future[str]:
    answer: Future[str] = Future()
    # Not one of a pool's: nobody waits at the process' end for a server that does not answer.
    Thread(target=lambda: answer.set_result(_answer(check)), daemon=True).start()
    return answer


def _database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()  # this thread's own; it goes back to the pool


def _why(told: str) -> str:
    """The server's own reason. If it can be reached after all, the pool's: it may have none left for us."""
    reason = _answer(lambda: reach(connect_timeout=WHY_PATIENCE))
    return told if reason == "ok" else reason


def _answer(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()}"
    return "ok"
