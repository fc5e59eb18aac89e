"""The process in which images are decoded. Run as a script: it imports nothing of ours, and keeps nothing open.

Reads an image from its input, writes a line that says what it made and then the result, and ends. Its limits are set
before the first byte is read.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys

LAST = 19  # of all processes: an image takes seconds of the processor, which web server and mails need for moments


def limit(order: dict) -> None:
    for what, most in (
        (resource.RLIMIT_AS, order["memory"]),
        (resource.RLIMIT_CPU, order["seconds"]),
        (resource.RLIMIT_FSIZE, order["most_bytes"] + 10_000),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, 0),
    ):
        # Past the first limit of time there is a signal that tells, past the second none.
        resource.setrlimit(what, (most, most + 5 if what == resource.RLIMIT_CPU else most))
    os.nice(LAST)


order = json.loads(sys.argv[1])
limit(order)

from PIL import GifImagePlugin, Image, ImageOps, JpegImagePlugin, PngImagePlugin, WebPImagePlugin  # noqa: E402, F401

LIGHTEST = (255, 255, 255)  # what shows through where a format knows no transparency


class Refused(Exception):
    pass


def main() -> None:
    try:
        told, content = made(sys.stdin.buffer)
    except Refused as error:
        told, content = {"refused": str(error)}, b""
    except MemoryError:
        told, content = {"refused": f"It takes more than {order['memory']:,} bytes of memory to decode."}, b""
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + content)
    sys.stdout.buffer.flush()


def made(source: io.BufferedIOBase) -> tuple[dict, bytes]:
    image = decoded(source)
    image = toned(turned(image))
    image = resized(image)
    image.info.clear()  # places, cameras, thumbnails within, comments, colour profiles
    result = io.BytesIO()
    quality = {} if order["format"] == "png" else {"quality": order["quality"]}
    image.save(result, order["format"], **quality)
    if result.tell() > order["most_bytes"]:
        raise Refused(f"The result has {result.tell():,} bytes. Ask for a smaller one.")
    return {"width": image.width, "height": image.height}, result.getvalue()


def decoded(source: io.BufferedIOBase) -> Image.Image:
    Image.MAX_IMAGE_PIXELS = None  # a limit of our own follows, before anything is decoded
    try:
        image = Image.open(source, formats=[order["source"]])
        pixels = image.width * image.height
        if pixels > order["most_pixels"]:
            raise Refused(f"It has {pixels:,} pixels; at most {order['most_pixels']:,} are decoded.")
        if not order["cover"]:
            # A JPEG can be decoded to an eighth of its size at an eighth of the cost; it may yet be turned.
            side = max(order["width"] or 0, order["height"] or 0)
            image.draft(None, (side, side))
        image.load()  # of an animation, the first picture
    except (Refused, MemoryError):
        raise
    except Exception as error:  # decoders raise whatever they like
        raise Refused(f"It is no whole {order['source'].upper()} ({type(error).__name__}: {error}).") from error
    return image


def turned(image: Image.Image) -> Image.Image:
    """As the camera was held."""
    try:
        return ImageOps.exif_transpose(image)
    except MemoryError:
        raise
    except Exception:  # what cannot be read says nothing about how it was held
        return image


def toned(image: Image.Image) -> Image.Image:
    """In the colours that are wanted, and that the format knows."""
    if image.mode.startswith("I"):  # 16 bits a pixel
        image = image.point(lambda value: value / 256).convert("L")
    clear = image.has_transparency_data
    image = image.convert("RGBA" if clear else "RGB")
    if clear and order["format"] == "jpeg":
        ground = Image.new("RGB", image.size, LIGHTEST)
        ground.paste(image, mask=image.getchannel("A"))
        image, clear = ground, False
    if order["greyscale"]:
        image = image.convert("LA" if clear else "L")
    return image


def resized(image: Image.Image) -> Image.Image:
    """At the size that is wanted; never larger than it was, unless it has to cover that."""
    width, height = order["width"], order["height"]
    if order["cover"]:
        return ImageOps.fit(image, (width, height), Image.Resampling.LANCZOS)
    scale = min(1.0, *(wanted / had for wanted, had in ((width, image.width), (height, image.height)) if wanted))
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)


main()
