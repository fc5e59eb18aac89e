"""Whether this process lives, and whether what it needs answers."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.http import HttpRequest, JsonResponse

from execution.broker import get_broker
from scheduling.index import get_due_index


def healthz(request: HttpRequest) -> JsonResponse:
    """Alive: nothing else is asked, so that a lost server does not get every web process restarted."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Each dependency by name, with its reason where it fails."""
    checks = {"database": _database, "due_index": get_due_index().ping, "broker": get_broker().ping}
    answers = {name: _answer(check) for name, check in checks.items()}
    # Jobs are accepted as long as the database answers; the rest catches up.
    ready = answers["database"] == "ok"
    return JsonResponse({"status": "ok" if ready else "unavailable", **answers}, status=200 if ready else 503)


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _answer(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"
