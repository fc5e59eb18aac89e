"""Files that tasks read and make: kept in Django's storage, each readable by its own tenant only.

A name is a random id. It says neither whose the file is nor where it lies, so a stolen name opens nothing,
and nothing that a client writes becomes part of a path.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import BinaryIO
from uuid import UUID

import structlog
from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Count, Sum
from django.utils import timezone

from accounts.models import Tenant
from accounts.quota import QuotaExceeded, take_turn
from execution.models import Upload
from jobs.documents import storable_text

A_DAY = timedelta(days=1)
PRUNED_AT_ONCE = 20  # files a call, at most: each may be a request to a storage far away, and somebody waits

logger = structlog.get_logger(__name__)


class UnknownUpload(Exception):
    """The tenant has no file of that name."""


class UploadTooLarge(Exception):
    """The file is larger than may be kept."""


def save_upload(
    tenant_id: UUID,
    content: bytes | BinaryIO | File,
    *,
    content_type: str = "application/octet-stream",
    filename: str = "",
    made: bool = False,
) -> str:
    """Keep the content and return its name. `made` says that a task of ours made it: such files can be fetched.

    Raises UploadTooLarge and QuotaExceeded.
    """
    file = _as_file(content)
    if file.size > settings.UPLOAD_MAX_BYTES:
        raise UploadTooLarge(f"The file has {file.size:,} bytes; at most {settings.UPLOAD_MAX_BYTES:,} are kept.")
    # The row first: a crash in between leaves a row without a file, which is pruned. The reverse order would leave
    # a file that nobody knows of.
    with transaction.atomic():
        _check_room(tenant_id, file.size, made=made)
        upload = Upload.objects.create(
            tenant_id=tenant_id,
            content_type=content_type[:100],
            filename=storable_text(filename)[:255],
            size=file.size,
            made=made,
            used_at=timezone.now(),
        )
    default_storage.save(upload.place, file)
    return upload.name


def find_upload(tenant_id: UUID, name: str) -> Upload:
    """What is known of the tenant's file of that name, or UnknownUpload."""
    try:
        return Upload.objects.for_tenant(tenant_id).get(pk=UUID(hex=name))
    except (Upload.DoesNotExist, ValueError):
        raise UnknownUpload(
            f"No upload is named {name[:64]!r}: it was deleted, or never was. Upload it again."
        ) from None


def open_upload(tenant_id: UUID, name: str) -> BinaryIO:
    """The content of the tenant's file of that name, or UnknownUpload. Close it after use."""
    return open_found(find_upload(tenant_id, name))


def open_found(upload: Upload) -> BinaryIO:
    """The content of a file that was found before."""
    now = timezone.now()
    if (
        upload.used_at < now - A_DAY
    ):  # what a weekly job attaches must outlive the week; a write each time is not needed
        Upload.objects.filter(pk=upload.pk).update(used_at=now)
    try:
        return default_storage.open(upload.place, "rb")
    except FileNotFoundError:
        raise UnknownUpload(f"The file of upload {upload.name} is gone from the storage. Upload it again.") from None


def delete_upload(tenant_id: UUID, name: str) -> None:
    """Forget the tenant's file of that name. It is no error if there is none."""
    with suppress(UnknownUpload):
        _delete(find_upload(tenant_id, name))


def prune_uploads(now: datetime, *, limit: int = PRUNED_AT_ONCE) -> int:
    """Delete files that have not been used for long, at most `limit`, and return how many that were."""
    done = 0
    for upload in Upload.objects.unused_since(now - settings.UPLOAD_KEPT).order_by("used_at")[:limit]:
        try:
            _delete(upload)
        except OSError as error:  # the storage is away; whoever prunes has other things to do
            logger.warning("uploads.not_pruned", error=str(error))
            break
        done += 1
    return done


def _check_room(tenant_id: UUID, size: int, *, made: bool) -> None:
    """Call it in the transaction that stores what it gives room to.

    What tasks make is counted by itself: work that was accepted goes on when a tenant has sent in all it may, and a
    job that makes files for ever does not fill the disk.
    """
    most_files, most_bytes = settings.UPLOAD_QUOTA_FILES, settings.UPLOAD_QUOTA_BYTES
    if not most_files and not most_bytes:
        return
    take_turn(Tenant(pk=tenant_id))
    alike = Upload.objects.for_tenant(tenant_id).filter(made=made)
    used = alike.aggregate(files=Count("pk"), size=Sum("size", default=0))
    days = settings.UPLOAD_KEPT // A_DAY
    remedy = f"Files are deleted {days:,} days after their last use. Wait, or ask for a larger quota."
    if most_files and used["files"] >= most_files:
        raise QuotaExceeded("uploads", limit=most_files, used=used["files"], remedy=remedy)
    if most_bytes and used["size"] + size > most_bytes:
        raise QuotaExceeded("upload_bytes", limit=most_bytes, used=used["size"], wanted=size, remedy=remedy)


def _delete(upload: Upload) -> None:
    default_storage.delete(upload.place)  # first, so that a crash in between leaves the row to try again by
    upload.delete()


def _as_file(content: bytes | BinaryIO | File) -> File:
    if isinstance(content, bytes):
        return ContentFile(content)
    return content if isinstance(content, File) else File(content)
