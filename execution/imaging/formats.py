"""Which images are read and made, told by what they begin with: names and headers say what their sender likes. Pure."""

from __future__ import annotations

HEAD = 16  # bytes that tell

CONTENT_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp"}  # made
READ = "JPEG, PNG, WebP or GIF"


def sniffed(head: bytes) -> str | None:
    """The format of what begins with `head`; None for all that is not read, such as SVG, TIFF or a web page."""
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "webp"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return None
