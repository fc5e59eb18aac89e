"""Sends a mail."""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from execution.addresses import Address
from execution.registry import Run, task


def _one_line(text: str) -> str:
    # A line break in a header starts the next header: a subject could add recipients.
    if any(character in text for character in "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
        raise ValueError("must be a single line.")
    return text


class Email(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=500_000)

    to: list[Address] = Field(min_length=1, max_length=100, description="One address, or a list of up to 100.")
    subject: Annotated[str, AfterValidator(_one_line)] = Field(min_length=1, max_length=500)
    body: str = Field(description="The mail as plain text.")
    html: str | None = Field(default=None, description="The same as HTML, for readers that show it.")

    @field_validator("to", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


def mail_server(email: Email) -> str:
    """Who takes our mails, whatever their payload: while it is down, mails wait instead of using up their retries."""
    return f"smtp://{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"


@task("send_email", payload=Email, destination=mail_server, shared_destination=True)
def send_email(email: Email, run: Run) -> dict[str, Any]:
    """Send the mail through the configured server. An answer other than "accepted" raises, and is retried."""
    message = EmailMultiAlternatives(email.subject, email.body, to=email.to)
    # A mail server or reader that has seen this id may drop the repeat after a crash.
    message.extra_headers["X-Idempotency-Key"] = run.idempotency_key
    if email.html is not None:
        message.attach_alternative(email.html, "text/html")
    message.send()
    return {"recipients": email.to}
