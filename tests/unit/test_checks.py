"""Settings that do not go together are told."""

from __future__ import annotations

import pytest

from execution.outbound.signing import spell_secret
from jobs.alerts.operators import undeliverable
from scheduler_project.checks import short_keys, too_few_connections


@pytest.mark.parametrize(("threads", "size", "told"), [(8, 20, False), (16, 20, False), (17, 20, True)])
def test_a_pool_too_small_for_the_threads_is_told_with_the_remedy(threads, size, told) -> None:
    found = too_few_connections(size, threads)

    assert [message.id for message in found] == (["punctual.W001"] if told else [])
    assert all("DATABASE_POOL_SIZE" in message.hint for message in found)


def test_a_key_that_could_be_guessed_is_told_and_how_to_make_a_better_one() -> None:
    [message] = short_keys(["x" * 40, "changeme"])

    assert message.id == "punctual.E003" and "token_urlsafe" in message.hint and "changeme" not in str(message)
    assert short_keys(["x" * 32]) == []


@pytest.mark.parametrize(
    ("emails", "url", "secret", "told"),
    [
        ([], "", "", []),
        (["ops@example.com"], "https://example.com/hook", spell_secret(b"k" * 32), []),
        (["ops"], "", "", ["ALERT_EMAILS"]),
        ([], "http://169.254.169.254/", "", ["ALERT_WEBHOOK"]),
        ([], "https://example.com/hook", "guess", ["ALERT_WEBHOOK_SECRET"]),
    ],
)
def test_alerts_that_would_reach_nobody_are_told_before_they_are_needed(emails, url, secret, told) -> None:
    assert [fault.partition(":")[0] for fault in undeliverable(emails, url, secret)] == told
