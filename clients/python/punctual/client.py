"""The way in: one object a server, with a part for each kind of thing there."""

from __future__ import annotations

from types import TracebackType

from punctual.parts import Alerts, DeadLetters, Executions, Incidents, Jobs, Tasks
from punctual.transport import Transport


class Punctual:
    """A server, and who speaks to it: an API key, an access token, or a username with its password.

    `tenant` is the one to speak for, where that is not your first. Safe to share between threads.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        key: str | None = None,
        token: str | None = None,
        username: str | None = None,
        password: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        sign_in = (username, password or "") if username else None
        self.transport = Transport(address, key=key, token=token, sign_in=sign_in, tenant=tenant, timeout=timeout)
        self.jobs = Jobs(self.transport)
        self.executions = Executions(self.transport)
        self.dead_letters = DeadLetters(self.transport)
        self.tasks = Tasks(self.transport)
        self.alerts = Alerts(self.transport)
        self.incidents = Incidents(self.transport)

    def close(self) -> None:
        self.transport.close()

    def __enter__(self) -> Punctual:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
