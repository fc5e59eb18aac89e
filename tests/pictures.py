"""Real image files for the tests, good and bad, made as they are needed."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image

RED, BLUE = (200, 30, 30), (30, 30, 200)


def picture(form: str = "png", size: tuple[int, int] = (64, 48), mode: str = "RGB", **options: Any) -> bytes:
    """The left half red, the right half blue; or as light as that, in other modes."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (size[0] // 2, 0, *size))
    return _saved(image.convert(mode), form, **options)


def animation(form: str, frames: int = 3) -> bytes:
    first, *others = (Image.new("RGB", (40, 30), (number * 80, 0, 0)) for number in range(frames))
    return _saved(first, form, save_all=True, append_images=others, duration=50)


def held_sideways(form: str = "jpeg") -> bytes:
    """Red on top once it is turned; with the place it was taken at, and a comment."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it by 90 degrees to the right
    exif[0x010E] = "secret description"
    exif.get_ifd(0x8825)[1] = "N"
    return picture(form, exif=exif)


def wide_bomb(side: int = 9000) -> bytes:
    """A PNG of many pixels, all alike, in a few kilobytes."""
    return _png(side, side, zlib.compress(bytes(side // 8 + 1) * side, 9), depth=1)


def liar(side: int) -> bytes:
    """A PNG that says it is large, and has next to nothing in it."""
    return _png(side, side, zlib.compress(b"\0" * 10))


def text_bomb() -> bytes:
    """A PNG whose comment unpacks to a hundred megabytes."""
    comment = _chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(100_000_000), 9))
    return _png(1, 1, zlib.compress(b"\0\0\0\0"), before=comment)


def _png(width: int, height: int, data: bytes, *, depth: int = 8, before: bytes = b"") -> bytes:
    colours = 0 if depth == 1 else 2
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + before + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _saved(image: Image.Image, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()
