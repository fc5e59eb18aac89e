"""The idempotency key of a request: by header, or as a field of the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from accounts.models import Tenant
from jobs import idempotency
from jobs.idempotency import Made

HEADER = "Idempotency-Key"
FIELD = "idempotency_key"
REPLAYED = "Idempotency-Replayed"
LONGEST = 255  # characters
PATTERN = "^[!-~]([ -~]{0,253}[!-~])?$"
HELP = (
    "A text of your choice, such as a UUID, by which a repeated request is known for 24 hours: it makes nothing, and "
    f"is answered with what the first one made. The same as the header {HEADER}."
)


class KeyField(serializers.RegexField):
    def __init__(self, **options: Any) -> None:
        allowed = f"must be 1 to {LONGEST} printable ASCII characters, such as a UUID."
        super().__init__(
            PATTERN,
            max_length=LONGEST,
            error_messages={"invalid": allowed, "max_length": allowed, "blank": allowed, "null": allowed},
            help_text=HELP,
            **options,
        )

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


def key_of(request: Request, in_body: str | None) -> str | None:
    """The key that a request has, or None."""
    in_header = request.headers.get(HEADER)
    if in_header is None:
        return in_body
    if not re.fullmatch(PATTERN, in_header):
        raise serializers.ValidationError({HEADER: [f"must be 1 to {LONGEST} printable ASCII characters."]})
    if in_body is not None and in_body != in_header:
        raise serializers.ValidationError({FIELD: [f"differs from the header {HEADER}. Send one of them."]})
    return in_header


def once(
    key: str | None, act: str, body: dict[str, Any], *, tenant: Tenant, make: Callable[[], Sequence[Made]]
) -> tuple[Sequence[Made], dict[str, str]]:
    """What `make` makes, once for each key; and the headers that say so. Without a key nothing is looked up."""
    if key is None:
        return make(), {}
    asked = idempotency.fingerprint(act, {name: value for name, value in body.items() if name != FIELD})
    answer = idempotency.once(key, asked, tenant=tenant, make=make)
    return answer.made, {REPLAYED: "true"} if answer.replayed else {}
