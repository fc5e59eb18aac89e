"""From an image that somebody sends to the job that makes a small one of it."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadedfile import UploadedFile

from accounts.models import Tenant, User
from execution.imaging import CONTENT_TYPES, sniffed
from execution.imaging.formats import HEAD, READ
from execution.uploads import delete_upload, save_upload
from jobs.documents import storable_text
from jobs.models import Job
from jobs.services import NewJob, create_job

TASK = "image_thumbnail"
LONGEST_NAME = 200  # characters of a job's


class UnreadableImage(Exception):
    """What was sent is no image that is read."""

    field = "file"


def order_thumbnail(file: UploadedFile, wishes: dict[str, Any], *, tenant: Tenant, actor: User | None) -> Job:
    """Keep the file and have a small image made of it. UnreadableImage or UploadTooLarge before anything is stored.

    Only its first bytes are looked at here: decoding is for a process that has nothing to lose.
    """
    kind = sniffed(file.read(HEAD))
    file.seek(0)
    if kind is None:
        raise UnreadableImage(f"is no image that is read. Send a {READ}; what counts is its content.")
    filename = storable_text(file.name or "")
    content_type = CONTENT_TYPES.get(kind, f"image/{kind}")
    upload = save_upload(tenant.pk, file, content_type=content_type, filename=filename)
    try:
        wanted = NewJob(TASK, {"upload": upload, **wishes}, name=filename[:LONGEST_NAME])
        return create_job(wanted, tenant=tenant, actor=actor)
    except BaseException:
        delete_upload(tenant.pk, upload)
        raise
