"""What a mail may look like, as its payload says it."""

from __future__ import annotations

import binascii
import re
import unicodedata
from base64 import b64decode
from typing import Annotated, Any, Self

from django.conf import settings
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from execution.addresses import Address
from execution.mail.drafts import BadTemplate, Drafts
from execution.mail.meter import Meter
from execution.registry import InvalidPayload

# What may be added without changing who gets the mail, who it is from, or what a provider does with it.
HEADERS = (
    "Auto-Submitted",
    "Importance",
    "In-Reply-To",
    "List-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "Precedence",
    "References",
    "X-Auto-Response-Suppress",
    "X-Entity-Ref-ID",
    "X-Priority",
)
MOST_RECIPIENTS = 100  # of one mail: what most servers take
LINE_BREAKS = re.compile("[\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
KIND = re.compile(r"(?!multipart/|message/)[a-z]{1,20}/[a-z0-9][a-z0-9.+-]{0,79}")
FILE_NAME = re.compile(r"[^\x00-\x1f\x7f/\\\"<>:|*?\u2028\u2029]{1,150}")


def one_line(text: str) -> str:
    # A line break in a header starts the next header: a subject could add recipients.
    if LINE_BREAKS.search(text) or "\x00" in text:
        raise ValueError("must be a single line.")
    return text


def _plain_name(name: str) -> str:
    """A name as readers see it: no code of its own that they would undo, and nothing that reorders or hides text."""
    if "=?" in name or any(unicodedata.category(sign) in ("Cc", "Cf") for sign in name):
        raise ValueError("must be plain text, without encoded words and control characters.")
    return name


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Line = Annotated[str, AfterValidator(one_line)]
# FailFast: a list of thousands of invalid items would be checked item by item before its length is.
Addresses = Annotated[list[Address], FailFast(), BeforeValidator(_one_or_many), Field(max_length=MOST_RECIPIENTS)]


class Attachment(BaseModel):
    """A file, in the payload itself or uploaded before."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="What the reader sees, such as report.pdf.")
    content: str | None = Field(default=None, description="The file in base64, for small ones.")
    upload: Line | None = Field(default=None, max_length=200, description="The name of an uploaded file instead.")
    content_type: str | None = Field(default=None, description="Such as application/pdf; else told by the name.")

    @field_validator("name")
    @classmethod
    def _is_a_file_name(cls, name: str) -> str:
        if not FILE_NAME.fullmatch(name) or name.strip(". ") != name.strip():
            raise ValueError("must be a plain file name such as report.pdf, of at most 150 characters.")
        return name

    @field_validator("content_type")
    @classmethod
    def _is_a_kind(cls, kind: str | None) -> str | None:
        if kind is not None and not KIND.fullmatch(kind):
            raise ValueError("must be a plain kind such as application/pdf.")
        return kind

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.content is None) == (self.upload is None):
            raise ValueError("needs either content or upload.")
        if self.content is not None:
            self.decoded()
        return self

    def decoded(self) -> bytes:
        try:
            return b64decode(self.content or "", validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("its content is not base64.") from None


class Email(BaseModel):
    """A mail, to be sent once. Lists begin with a factory: pydantic would copy a default, slowly, for each mail."""

    model_config = ConfigDict(extra="forbid", str_max_length=500_000)

    to: Addresses = Field(min_length=1, description="One address, or a list of up to 100.")
    cc: Addresses = Field(default_factory=list, description="Who gets a copy that everybody sees.")
    bcc: Addresses = Field(default_factory=list, description="Who gets a copy that nobody sees.")
    reply_to: Addresses = Field(default_factory=list, max_length=10, description="Who an answer goes to.")
    sender: Address | None = Field(
        default=None, alias="from", description="One of the tenant's own senders. Without one, the system's."
    )
    from_name: Annotated[Line, AfterValidator(_plain_name)] | None = Field(
        default=None,
        max_length=100,
        description="The name beside the sender's address. An address in it must be one of the tenant's own senders.",
    )
    subject: Line = Field(min_length=1, max_length=500)
    body: str = Field(description="The mail as plain text.")
    html: str | None = Field(default=None, description="The same as HTML, for readers that show it.")
    context: dict[str, Any] | None = Field(
        default=None,
        description="With this, subject, body and html are Django templates, and these the values they are filled in "
        "with. In html, values are escaped.",
    )
    headers: dict[str, Line] = Field(default_factory=dict, max_length=20, description=f"Some of {', '.join(HEADERS)}.")
    attachments: Annotated[list[Attachment], FailFast()] = Field(default_factory=list, max_length=20)
    _drafts: Drafts | None = PrivateAttr(default=None)

    @field_validator("headers")
    @classmethod
    def _are_allowed(cls, headers: dict[str, str]) -> dict[str, str]:
        allowed = {name.lower(): name for name in (*HEADERS, *settings.EMAIL_HEADERS)}
        if unknown := [name for name in headers if name.lower() not in allowed]:
            raise ValueError(f"{unknown[0][:60]!r} may not be set. Allowed: {', '.join(sorted(allowed.values()))}.")
        if len({name.lower() for name in headers}) < len(headers):
            raise ValueError("one of them is there twice.")
        if any(len(value) > 900 for value in headers.values()):
            raise ValueError("a header has at most 900 characters.")
        return {allowed[name.lower()]: value for name, value in headers.items()}

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.context is not None:
            sources = {"subject": self.subject, "body": self.body, "html": self.html}
            try:
                self._drafts = Drafts({field: source for field, source in sources.items() if source is not None})
            except BadTemplate as error:
                # Past pydantic, which would forget the field.
                raise InvalidPayload({error.field: str(error)}) from None
        if (self.cc or self.bcc) and len(self.recipients) > MOST_RECIPIENTS:
            raise ValueError(f"has {len(self.recipients)} recipients; a mail goes to at most {MOST_RECIPIENTS}.")
        return self

    def filled_in(self, meter: Meter) -> tuple[str, str, str | None]:
        """Subject, body and html as they are sent; BadTemplate or ValueError where they cannot be."""
        if self._drafts is None or self.context is None:
            return self.subject, self.body, self.html
        texts = self._drafts.fill_in(self.context, meter)
        return one_line(texts["subject"].strip()), texts["body"], texts.get("html")

    @property
    def recipients(self) -> list[str]:
        return [*self.to, *self.cc, *self.bcc]
