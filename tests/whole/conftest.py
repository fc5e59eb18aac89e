"""Real processes on the servers of the mode under test, and a real mail server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.conftest import empty_servers, no_names_left_on_the_servers  # noqa: F401
from tests.whole.mailserver import MailServer


@pytest.fixture
def mailserver() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()
