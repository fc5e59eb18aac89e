"""A real SMTP server on loopback that keeps what it gets, and refuses, stalls or hangs up when told to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller


class MailServer:
    def __init__(self) -> None:
        self.forget()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Begin anew, with nothing kept and nothing told."""
        self.inbox: list[EmailMessage] = []
        self.envelopes: list[list[str]] = []  # the recipients of each
        self.connections = 0
        self.refusals = 0  # how many mails to refuse before accepting one
        self.refused = 0
        self.answers: dict[str, list[str]] = {}  # by recipient: what it is answered, each once, before "accepted"
        self.after_data: dict[
            str, list[str]
        ] = {}  # the same for mails, by their first recipient; "drop" hangs up in both

    def start(self) -> None:
        self._controller.start()
        self.connections = 0  # the controller has tried whether it answers

    def stop(self) -> None:
        self._controller.stop()

    async def handle_EHLO(self, server, session, envelope, hostname, responses) -> list[str]:
        session.host_name = hostname
        self.connections += 1
        return responses

    async def handle_RCPT(self, server, session, envelope, address, options) -> str:
        if answers := self.answers.get(address):
            answer = answers.pop(0)
            if answer == "drop":
                server.transport.abort()
            return answer
        envelope.rcpt_tos.append(address)
        return "250 Fine"

    async def handle_DATA(self, server, session, envelope) -> str:
        if answers := self.after_data.get(envelope.rcpt_tos[0]):
            answer = answers.pop(0)
            if answer == "drop":
                server.transport.abort()
            return answer
        if self.refused < self.refusals:
            self.refused += 1
            return "451 Try again later"
        self.inbox.append(message_from_bytes(envelope.content, policy=policy.default))
        self.envelopes.append(envelope.rcpt_tos)
        return "250 Kept"


@contextmanager
def taking_mail(settings: Any) -> Iterator[MailServer]:
    """A server that all mails of this process go to."""
    server = MailServer()
    server.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 20
    yield server
    server.stop()
