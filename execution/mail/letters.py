"""Turns a payload into the mail that is sent: filled in, with its files, and from somebody who may send it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from email.utils import formataddr, parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives

from execution.mail.drafts import BadTemplate
from execution.mail.meter import Meter
from execution.mail.payload import Email
from execution.retry import GiveUpNow
from execution.run import Run
from execution.uploads import UnknownUpload, open_upload

# Any text around an @, blanks included: mail programs show what looks like an address as one.
ADDRESS_IN_NAME = re.compile(r"[^\s<>()\"',;:]*\s*@\s*[^\s<>()\"',;:]*")


def written(email: Email, run: Run, senders: Collection[str], meter: Meter | None = None) -> EmailMultiAlternatives:
    """The mail, ready to be sent; GiveUpNow where it can never be. `meter` counts what its templates cost."""
    subject, body, html = _filled_in(email, meter or Meter())
    message = EmailMultiAlternatives(
        subject, body, _sender(email, senders), to=email.to, cc=email.cc, bcc=email.bcc, reply_to=email.reply_to
    )
    # A mail server or reader that has seen these may drop the repeat after a crash.
    message.extra_headers = email.headers | {
        "X-Idempotency-Key": run.idempotency_key,
        "Message-ID": f"<{run.idempotency_key}@{_domain(message.from_email)}>",
    }
    if html is not None:
        message.attach_alternative(html, "text/html")
    left = settings.EMAIL_ATTACHMENT_BYTES
    for attachment in email.attachments:
        content = attachment.decoded() if attachment.upload is None else _uploaded(attachment.upload, run, left)
        left -= len(content)
        if left < 0:
            raise GiveUpNow(f"The attachments have more than {settings.EMAIL_ATTACHMENT_BYTES:,} bytes. Send links.")
        message.attach(attachment.name, content, attachment.content_type)
    return message


def length_of(message: EmailMultiAlternatives) -> int:
    """About how many bytes the mail has, before it is encoded."""
    texts = [message.body, *(alternative[0] for alternative in message.alternatives)]
    return sum(map(len, texts)) + sum(len(attachment[1]) for attachment in message.attachments)


def _filled_in(email: Email, meter: Meter) -> tuple[str, str, str | None]:
    try:
        subject, body, html = email.filled_in(meter)
    except BadTemplate as error:
        raise GiveUpNow(f"The template of the mail's {error.field} {error}") from error
    except ValueError as error:
        raise GiveUpNow(f"The mail's subject {error}") from error
    if not subject or len(subject) > 500:
        raise GiveUpNow(f"The mail's subject has {len(subject)} characters once filled in; it needs 1 to 500.")
    return subject, body, html


def _sender(email: Email, senders: Collection[str]) -> str:
    name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    allowed = {one.lower() for one in senders}
    if email.sender is not None:
        if not _is_allowed(email.sender, allowed):
            raise GiveUpNow(
                f"This tenant may not send from {email.sender}. Allowed: {_listed(allowed)}. "
                "An administrator can add it."
            )
        name, address = "", email.sender
    if email.from_name:
        _check_name(email, allowed)
    return formataddr((email.from_name or name, address))


def _check_name(email: Email, allowed: Collection[str]) -> None:
    """Readers show the name and often hide the address, so a name is a claim about who sends. Raises GiveUpNow."""
    if settings.MAIL_NEEDS_VERIFIED_OWNER and not allowed:
        raise GiveUpNow(
            "This tenant has no senders of its own, so it may not choose from_name. Leave it out, or ask an "
            "administrator to add a sender."
        )
    for address in ADDRESS_IN_NAME.findall(unicodedata.normalize("NFKC", email.from_name or "")):
        if not _is_allowed(address, allowed):
            raise GiveUpNow(
                f"The from_name has an address that this tenant may not send from: {address}. "
                f"Allowed: {_listed(allowed)}. Take it out of the name."
            )


def _is_allowed(address: str, allowed: Collection[str]) -> bool:
    wanted = address.lower()
    return wanted in allowed or f"@{wanted.rpartition('@')[2]}" in allowed


def _listed(allowed: Collection[str]) -> str:
    return ", ".join(sorted(allowed)) or "none but the system's own"


def _uploaded(name: str, run: Run, most: int) -> bytes:
    try:
        with open_upload(run.tenant_id, name) as file:
            return file.read(most + 1)
    except UnknownUpload as error:
        raise GiveUpNow(str(error)) from error


def _domain(sender: str) -> str:
    return parseaddr(sender)[1].rpartition("@")[2] or "localhost"
