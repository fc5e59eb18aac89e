"""A real SMTP server on loopback that keeps what it gets, and refuses when told to."""

from __future__ import annotations

import socket
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.controller import Controller


class MailServer:
    def __init__(self) -> None:
        self.inbox: list[EmailMessage] = []
        self.refusals = 0  # how many mails to refuse before accepting one
        self.refused = 0
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop()

    async def handle_DATA(self, server, session, envelope) -> str:
        if self.refused < self.refusals:
            self.refused += 1
            return "451 Try again later"
        self.inbox.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 Kept"
