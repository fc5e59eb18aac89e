"""What one signed-in tenant can ask for that is much more work than it looks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.attacks.people import Client

AT_ONCE = 8  # requests: twice the threads of a web process

TEXT = "a" * 190_000


def templates_of_comments(attacker: Client, until: float) -> Counter[int]:
    """Mails whose template is all unclosed comments."""
    return _mails(attacker, until, body="{#" * 99_000)


def templates_of_tags(attacker: Client, until: float) -> Counter[int]:
    """Mails whose template is all unclosed tags."""
    return _mails(attacker, until, body="{%" * 990 + " " * 190_000)


def templates_of_variables(attacker: Client, until: float) -> Counter[int]:
    """Mails whose template is all unclosed variables."""
    return _mails(attacker, until, body="{{" * 990 + " " * 190_000)


def loops_over_text(attacker: Client, until: float) -> Counter[int]:
    """Mails whose template goes through a long text, letter by letter, and prints it each time."""
    body = "{% for a in x %}{{ x }}{% endfor %}"
    return _mails(attacker, until, body=body, context={"x": TEXT})


def doubled_text(attacker: Client, until: float) -> Counter[int]:
    """Mails whose template doubles a text again and again."""
    doubled = "{% with y=x|add:x %}" * 25 + "{{ y|length }}" + "{% endwith %}" * 25
    return _mails(attacker, until, body=doubled.replace("x|add:x", "x|add:x", 1), context={"x": TEXT})


def make_large_jobs(attacker: Client) -> None:
    large = {"task": "send_email", "payload": _mail("x" * 200_000), "schedule": _in_a_year()}
    for _ in range(60):
        attacker.create([large] * 4)


def large_pages(attacker: Client, until: float) -> Counter[int]:
    """The largest pages of jobs with large payloads."""
    return _repeated(until, lambda: attacker.ask("GET", "/api/v1/jobs?page_size=100"))


def padded_page_sizes(attacker: Client, until: float) -> Counter[int]:
    """Page sizes that look small to a comparison of texts, and are not."""
    return _repeated(until, lambda: attacker.ask("GET", "/api/v1/jobs?page_size=0000000100000"))


def make_many_schedules(attacker: Client) -> None:
    schedules = [
        {"type": "cron", "expression": f"{n % 60} {n // 60 % 24} * * {n // 1440 % 7}", "timezone": "UTC"}
        for n in range(8000)
    ]
    attacker.create([{"task": "send_email", "payload": _mail("."), "schedule": one} for one in schedules])


def forecasts(attacker: Client, until: float) -> Counter[int]:
    """Forecasts of a week for eight thousand schedules that all differ."""
    return _repeated(until, lambda: attacker.ask("GET", "/api/v1/schedules/load?hours=168"))


def secrets_everywhere(attacker: Client, until: float) -> Counter[int]:
    """Requests with thousands of secrets, whose reports have to be cleaned of each of them."""
    payload = {
        "url": "http://example.invalid/",
        "method": "POST",
        "body": {f"k{n}": {"password": f"secret-{n}-{'x' * 20}"} for n in range(2_000)},
    }
    job = {"task": "http_request", "payload": payload, "max_retries": 0}
    return _repeated(until, lambda: attacker.ask("POST", "/api/v1/jobs", job))


def combining_addresses(attacker: Client, until: float) -> Counter[int]:
    """Mails to addresses of combining characters, which cost much to bring into their normal form."""
    address = "a" + "\u0300\u0316" * 500 + "@example.com"
    job = {"task": "send_email", "payload": {**_mail("."), "to": [address] * 100}}
    return _repeated(until, lambda: attacker.ask("POST", "/api/v1/jobs", job))


def long_lists(attacker: Client, until: float) -> Counter[int]:
    """Bulk acts on hundreds of thousands of ids, all of them invalid."""
    return _repeated(until, lambda: attacker.ask("POST", "/api/v1/jobs/bulk/pause", {"ids": [0] * 300_000}))


def bulk_calls(attacker: Client, until: float) -> Counter[int]:
    """As many jobs as one call may create, in each call."""
    jobs = [{"task": "send_email", "payload": _mail("x" * 600), "schedule": _in_a_year()}] * 1000
    return _repeated(until, lambda: attacker.ask("POST", "/api/v1/jobs/bulk", {"jobs": jobs}))


def slow_requests(target: str) -> Callable[[Client, float], Counter[int]]:
    """Thirty-two requests to a server that never answers."""

    def attack(attacker: Client, until: float) -> Counter[int]:
        job = {"task": "http_request", "payload": {"url": target, "timeout": 30}, "max_retries": 0}
        attacker.create([job] * 32)
        time.sleep(max(0.0, until - time.monotonic()))
        return Counter({201: 32})

    return attack


def _mails(attacker: Client, until: float, *, body: str, context: Any = None) -> Counter[int]:
    job = {"task": "send_email", "payload": {**_mail(body), "context": context or {}}, "max_retries": 0}
    return _repeated(until, lambda: attacker.ask("POST", "/api/v1/jobs", job))


def _repeated(until: float, request: Callable[[], tuple[int, bytes]]) -> Counter[int]:
    """Send it, several at a time, until the time is over; return how often each status was the answer."""

    def repeat(_: int) -> Counter[int]:
        answers: Counter[int] = Counter()
        while time.monotonic() < until:
            answers[request()[0]] += 1
        return answers

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(repeat, range(AT_ONCE)), Counter())


def _mail(body: str) -> dict[str, Any]:
    return {"to": "someone@example.com", "subject": "Hello", "body": body}


def _in_a_year() -> dict[str, Any]:
    return {"type": "interval", "seconds": 365 * 86_400}
