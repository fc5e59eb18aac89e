"""Hands mails over: one connection for many, and what the server says of each is told apart.

A mail that can never be delivered is given up, one that may be later is retried, and a server that is away is asked
once for all. With several recipients there is no halfway: as long as the server says "later" to one of them, none
gets the mail, or those who got it would get it again. Only the last attempt takes whoever can be had.
"""

from __future__ import annotations

import smtplib
from contextlib import suppress
from email.policy import SMTP
from typing import Any

import django
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.smtp import EmailBackend

from execution.retry import GiveUpNow

PERMANENT = range(500, 600)
ACCEPTED = (250, 251)  # answers to a recipient
REFUSED_BY_API = (400, 413, 422)  # of a provider's HTTP answers, those about the mail itself
CLOSING = 421  # what a server says that is about to hang up
Answer = tuple[int, bytes]
Refused = dict[str, str]  # recipients, each with what the server said of it


class NotDelivered(Exception):
    """Not now; perhaps later."""


class Post:
    """The way to the configured mail server, for one batch. Opened when the first mail is ready."""

    def __init__(self) -> None:
        self._backend: Any = get_connection()
        self._away: NotDelivered | None = None

    def __enter__(self) -> Post:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # what was accepted is accepted, and SMTP's own errors are among these
            self._backend.close()

    def send(self, message: EmailMessage, *, last: bool) -> Refused:
        """Hand it over; return who does not get it. Raises GiveUpNow where nobody ever will, NotDelivered for now."""
        if self._away is not None:
            raise self._away
        try:
            self._backend.open()
        except (OSError, smtplib.SMTPException) as error:
            # A wrong password is a 5xx too, but it is our mistake, and no reason to give up anybody's mail.
            self._away = NotDelivered(f"the mail server cannot be used: {_told(error)}")
            raise self._away from error
        if isinstance(self._backend, EmailBackend):
            return self._over_smtp(self._backend.connection, message, last=last)
        try:
            self._backend.send_messages([message])
        except Exception as error:
            _refused_by_provider(message)
            if getattr(error, "status_code", None) in REFUSED_BY_API:
                raise GiveUpNow(f"The mail provider refuses the mail: {_told(error)}") from error
            raise
        return _refused_by_provider(message)

    def _over_smtp(self, smtp: smtplib.SMTP, message: EmailMessage, *, last: bool) -> Refused:
        try:
            return _transaction(smtp, message, last=last)
        except smtplib.SMTPServerDisconnected as error:
            self._hang_up()
            raise NotDelivered(f"the mail server hung up: {_told(error)}") from error
        except OSError as error:
            self._hang_up()
            raise NotDelivered(f"the mail server stopped answering: {_told(error)}") from error
        except (NotDelivered, GiveUpNow):
            with suppress(OSError):
                if smtp.sock is None or smtp.rset()[0] == CLOSING:
                    self._hang_up()
            raise
        except BaseException:
            self._hang_up()  # an interruption, perhaps in the middle of a word
            raise

    def _hang_up(self) -> None:
        """Have the next mail begin with a new connection."""
        smtp, self._backend.connection = self._backend.connection, None
        if smtp is not None:
            smtp.close()


def _as_bytes(message: EmailMessage) -> bytes:
    """The mail as SMTP takes it, from Django 6 on by Python's own policy for that."""
    if django.VERSION >= (6, 0):
        return message.message(policy=SMTP).as_bytes()
    return message.message().as_bytes(linesep="\r\n")


def _transaction(smtp: smtplib.SMTP, message: EmailMessage, *, last: bool) -> Refused:
    sender, *recipients = (_address(one) for one in (message.from_email, *message.recipients()))
    recipients = list(dict.fromkeys(recipients))
    content = _as_bytes(message)
    smtp.ehlo_or_helo_if_needed()
    if not all(one.isascii() for one in (sender, *recipients)) and not smtp.has_extn("smtputf8"):
        raise GiveUpNow("The mail server takes no addresses with other than ASCII characters.")
    options = [f"size={len(content)}"] if smtp.has_extn("size") else []
    if not all(one.isascii() for one in (sender, *recipients)):
        options += ["SMTPUTF8", "BODY=8BITMIME"]
    _check("the sender", smtp.mail(sender, options))
    said = _answers(smtp, recipients)
    refused = {one: answer for one, answer in said.items() if answer[0] not in ACCEPTED}
    forever = {one for one, answer in refused.items() if answer[0] in PERMANENT}
    if len(forever) == len(recipients):
        raise GiveUpNow(f"The mail server refuses every recipient: {_listed(refused)}")
    if refused.keys() - forever and not (last and len(refused) < len(recipients)):
        raise NotDelivered(f"the mail server does not take all recipients now: {_listed(refused)}")
    _check("the mail", smtp.data(content))
    return {one: _spoken(answer) for one, answer in refused.items()}


def _answers(smtp: smtplib.SMTP, recipients: list[str]) -> dict[str, Answer]:
    """What the server says of each recipient. Raises NotDelivered where it hangs up after it has refused some.

    Servers end a session that has too many refusals. That says nothing of the server: taken for an outage, the mails
    of one tenant to addresses that do not exist would stop the mails of all tenants.
    """
    said: dict[str, Answer] = {}
    try:
        for one in recipients:
            said[one] = smtp.rcpt(one)
    except smtplib.SMTPServerDisconnected:
        if refused := {one: answer for one, answer in said.items() if answer[0] not in ACCEPTED}:
            raise NotDelivered(f"the mail server closed the connection after it refused {_listed(refused)}") from None
        raise
    return said


def _check(what: str, answer: Answer) -> None:
    if answer[0] in PERMANENT:
        raise GiveUpNow(f"The mail server refuses {what}: {_spoken(answer)}")
    if answer[0] != 250:
        raise NotDelivered(f"the mail server does not take {what} now: {_spoken(answer)}")


def _refused_by_provider(message: EmailMessage) -> Refused:
    """What django-anymail tells of each recipient, where it is what carries the mail."""
    status = getattr(message, "anymail_status", None)
    told = {} if status is None else {one: each.status for one, each in status.recipients.items()}
    refused = {one: said for one, said in told.items() if said in ("invalid", "rejected", "failed")}
    if refused and len(refused) == len(told):
        raise GiveUpNow(f"The mail provider refuses every recipient: {refused}")
    return refused


def _address(text: str) -> str:
    """The bare address, as an envelope has it, with a domain of other letters in its ASCII form."""
    local, _, domain = (text.rpartition("<")[2].rstrip("> ") if text.endswith(">") else text).rpartition("@")
    with suppress(UnicodeError):
        domain = domain.encode("idna").decode()
    return f"{local}@{domain}"


def _listed(refused: dict[str, Answer]) -> str:
    return "; ".join(f"{one}: {_spoken(answer)}" for one, answer in list(refused.items())[:10])


def _spoken(answer: Answer) -> str:
    code, words = answer
    return f"{code} {words.decode(errors='replace')}"[:300].replace("\n", " ")


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
