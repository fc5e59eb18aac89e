"""Turns a payload into the mail that is sent: filled in, with its files, and from somebody who may send it."""

from __future__ import annotations

from collections.abc import Collection
from email.utils import formataddr, parseaddr
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives

from accounts.models import Tenant
from execution.mail.drafts import BadTemplate, Draft
from execution.mail.payload import Email, one_line
from execution.retry import GiveUpNow
from execution.run import Run
from execution.uploads import UnknownUpload, open_upload


def senders_of(tenants: Collection[UUID]) -> dict[UUID, list[str]]:
    """What each of these tenants may send from: addresses, and whole domains as `@example.com`."""
    return dict(Tenant.objects.filter(pk__in=tenants).values_list("pk", "senders")) if tenants else {}


def written(email: Email, run: Run, senders: Collection[str]) -> EmailMultiAlternatives:
    """The mail, ready to be sent; GiveUpNow where it can never be."""
    subject, body, html = _filled_in(email)
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


def _filled_in(email: Email) -> tuple[str, str, str | None]:
    if email.context is None:
        return email.subject, email.body, email.html
    try:
        subject = one_line(Draft(email.subject, autoescape=False).fill_in(email.context).strip())
        body = Draft(email.body, autoescape=False).fill_in(email.context)
        html = None if email.html is None else Draft(email.html, autoescape=True).fill_in(email.context)
    except (BadTemplate, ValueError) as error:
        raise GiveUpNow(f"The mail's template {error}") from error
    if not subject or len(subject) > 500:
        raise GiveUpNow(f"The mail's subject has {len(subject)} characters once filled in; it needs 1 to 500.")
    return subject, body, html


def _sender(email: Email, senders: Collection[str]) -> str:
    name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    if email.sender is not None:
        address, wanted = email.sender, email.sender.lower()
        allowed = {one.lower() for one in senders}
        if wanted not in allowed and f"@{wanted.rpartition('@')[2]}" not in allowed:
            told = ", ".join(sorted(allowed)) or "none but the system's own"
            raise GiveUpNow(f"This tenant may not send from {address}. Allowed: {told}. An administrator can add it.")
        name = ""
    return formataddr((email.from_name or name, address))


def _uploaded(name: str, run: Run, most: int) -> bytes:
    try:
        with open_upload(run.tenant_id, name) as file:
            return file.read(most + 1)
    except UnknownUpload as error:
        raise GiveUpNow(str(error)) from error


def _domain(sender: str) -> str:
    return parseaddr(sender)[1].rpartition("@")[2] or "localhost"
