"""Reads request bodies: JSON only, bounded in size, and only what every database can keep."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser

from jobs.documents import MAX_DEPTH, UnstorableDocument, check_document


class BodyTooLarge(APIException):
    status_code = 413
    default_code = "body_too_large"


class BoundedJSONParser(BaseParser):
    """Reads JSON of a bounded size. What the databases cannot keep of it is left to be told by whoever reads it on."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        limit = settings.MAX_BODY_BYTES
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"The body is larger than {limit:,} bytes. Send less, or a reference to it.")
        try:
            return json.loads(body.decode(), parse_constant=_refuse)
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8. Encode it as UTF-8.") from None
        except RecursionError:
            raise ParseError(f"JSON nested deeper than {MAX_DEPTH} levels. Flatten it.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}.") from None


class StrictJSONParser(BoundedJSONParser):
    """… and refuses the whole of it for any part that the databases cannot keep."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        document = super().parse(stream, media_type, parser_context)
        refuse_unstorable(document)
        return document


def refuse_unstorable(document: Any, *, called: str = "body") -> None:
    """Raise a ValidationError for the first part that the databases cannot keep; `called` is the name of the whole."""
    try:
        check_document(document)
    except UnstorableDocument as error:
        raise ValidationError({error.path or called: [error.reason]}) from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
