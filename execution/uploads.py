"""Files that tenants have uploaded, as handlers read them: each tenant in a folder of its own, under random names."""

from __future__ import annotations

from typing import BinaryIO
from uuid import UUID, uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage


class UnknownUpload(Exception):
    """The tenant has no file of that name."""


def save_upload(tenant_id: UUID, content: bytes) -> str:
    """Keep the content and return its name."""
    name = uuid4().hex
    default_storage.save(_place(tenant_id, name), ContentFile(content))
    return name


def open_upload(tenant_id: UUID, name: str) -> BinaryIO:
    """The content of the tenant's file of that name, or UnknownUpload. Close it after use."""
    try:
        return default_storage.open(_place(tenant_id, UUID(hex=name).hex), "rb")
    except (FileNotFoundError, ValueError):
        raise UnknownUpload(f"No upload is named {name[:64]!r}: it was deleted, or never was. Upload it.") from None


def _place(tenant_id: UUID, name: str) -> str:
    return f"uploads/{tenant_id}/{name}"
