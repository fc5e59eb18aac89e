"""Makes a small image of an uploaded one."""

from __future__ import annotations

from typing import Any, Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from accounts.quota import QuotaExceeded
from execution.imaging import CONTENT_TYPES, Order, Unmakeable, make_image, sniffed
from execution.imaging.formats import HEAD, READ
from execution.registry import Run, task
from execution.retry import GiveUpNow
from execution.uploads import UnknownUpload, find_upload, open_found, save_upload

LARGEST_SIDE = 4096  # pixels of a result
USUAL_SIDE = 256


class Thumbnail(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=100)

    upload: str = Field(description="The name of an upload.")
    width: int | None = Field(default=None, ge=1, le=LARGEST_SIDE, description="Pixels, at most.")
    height: int | None = Field(default=None, ge=1, le=LARGEST_SIDE, description="Pixels, at most.")
    fit: Literal["inside", "cover"] = Field(
        default="inside",
        description="inside: the whole image, no larger than wanted. cover: all of it filled, the rest cut.",
    )
    greyscale: bool = False
    format: Literal["jpeg", "png", "webp"] | None = Field(default=None, description="Without one, as it was sent.")
    quality: int = Field(default=85, ge=1, le=95, description="Of JPEG and WebP.")

    @model_validator(mode="after")
    def _some_size(self) -> Thumbnail:
        if self.width is None and self.height is None:
            self.width = self.height = USUAL_SIDE
        return self

    @field_validator("fit")
    @classmethod
    def _to_be_covered(cls, fit: str, so_far: Any) -> str:
        one_side = (so_far.data.get("width") is None) != (so_far.data.get("height") is None)
        if fit == "cover" and one_side:
            raise ValueError("cover needs both width and height, or neither.")
        return fit


@task("image_thumbnail", payload=Thumbnail)
def image_thumbnail(wanted: Thumbnail, run: Run) -> dict[str, Any]:
    """Resize an image. The result has the name to fetch it by. Invalid images and decompression bombs fail at once."""
    try:
        upload = find_upload(run.tenant_id, wanted.upload)
        with open_found(upload) as source:
            kind = sniffed(source.read(HEAD))
            if kind is None:
                raise GiveUpNow(f"The upload is no image that is read. Send a {READ}.")
            source.seek(0)
            form = wanted.format or (kind if kind in CONTENT_TYPES else "png")
            made = make_image(source, _order(wanted, kind, form))
        content_type, filename = CONTENT_TYPES[form], f"thumbnail.{form}"
        name = save_upload(run.tenant_id, made.content, content_type=content_type, filename=filename, made=True)
    except (UnknownUpload, Unmakeable, QuotaExceeded) as error:
        raise GiveUpNow(str(error)) from error
    return {
        "name": name,
        "content_type": content_type,
        "width": made.width,
        "height": made.height,
        "bytes": len(made.content),
    }


def _order(wanted: Thumbnail, kind: str, form: str) -> Order:
    return Order(
        source=kind,
        format=form,
        width=wanted.width,
        height=wanted.height,
        cover=wanted.fit == "cover",
        greyscale=wanted.greyscale,
        quality=wanted.quality,
        most_pixels=settings.IMAGE_MAX_PIXELS,
        memory=settings.IMAGE_MEMORY,
        seconds=max(1, int(settings.IMAGE_SECONDS.total_seconds())),
        most_bytes=settings.UPLOAD_MAX_BYTES,
    )
