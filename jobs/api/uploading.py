"""Reads bodies with a file in them: bounded before the first byte, and refused as all other bodies are."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from rest_framework.exceptions import ParseError
from rest_framework.parsers import DataAndFiles, MultiPartParser

from jobs.api.parsing import BodyTooLarge
from jobs.api.rendering import QuickJSONRenderer

AROUND_THE_FILE = 64 * 1024  # bytes: the other fields, and what separates them


class UploadParser(MultiPartParser):
    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> DataAndFiles:
        length = int(stream.META.get("CONTENT_LENGTH") or 0)
        if length > settings.UPLOAD_MAX_BYTES + AROUND_THE_FILE:
            raise BodyTooLarge(f"The body has {length:,} bytes. A file may have up to {settings.UPLOAD_MAX_BYTES:,}.")
        try:
            return super().parse(stream, media_type, parser_context)
        except RequestDataTooBig:
            raise BodyTooLarge("The fields beside the file are too long. Send less.") from None
        except SuspiciousOperation as error:
            raise ParseError(f"The form cannot be read: {error}") from None


class BesidesImages(QuickJSONRenderer):
    """For routes that answer with an image: whoever asks for one is told in JSON why there is none."""

    media_type = "image/*"
