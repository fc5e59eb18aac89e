"""Tells somebody outside that the watcher is there: whoever watches for the word to stay away."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import structlog

from execution.handlers.http_request import HttpCall, http_request
from execution.run import Run

logger = structlog.get_logger(__name__)

TIMEOUT = 5.0  # seconds: looking is more important


class Ping:
    """Asks the URL once in a while. One that does not answer is told of once, and asked on."""

    def __init__(self, url: str, every: timedelta) -> None:
        self._url = url
        self._every = every
        self._at: datetime | None = None
        self._failing = False

    def __call__(self, now: datetime) -> None:
        if not self._url or (self._at is not None and now < self._at):
            return
        self._at = now + self._every
        try:
            http_request(HttpCall(url=self._url, method="GET", timeout=TIMEOUT), Run(uuid4(), 1))
        except Exception as error:
            if not self._failing:
                logger.warning("watcher.ping_unheard", error=str(error), remedy="see WATCHER_PING_URL")
            self._failing = True
        else:
            self._failing = False
