"""Small images of large ones; and of what is none, or a bomb, nothing but a refusal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from execution.imaging import Made, Order, Unmakeable, make_image, sniffed, studio
from tests.pictures import animation, held_sideways, liar, picture, text_bomb, wide_bomb

ORDER = Order(
    source="",
    format="png",
    width=20,
    height=20,
    cover=False,
    greyscale=False,
    quality=85,
    most_pixels=40_000_000,
    memory=1024**3,
    seconds=60,
    most_bytes=10_000_000,
)


def make(content: bytes, **wishes) -> Made:
    source = sniffed(content[:16])
    assert source is not None
    return make_image(io.BytesIO(content), replace(ORDER, source=source, **wishes))


def opened(made: Made) -> Image.Image:
    image = Image.open(io.BytesIO(made.content))
    image.load()
    assert image.size == (made.width, made.height)
    return image


def is_red(pixel) -> bool:
    return pixel[0] > 150 and pixel[2] < 90


def is_blue(pixel) -> bool:
    return pixel[2] > 150 and pixel[0] < 90


@pytest.mark.parametrize("form", ["jpeg", "png", "webp"])
@pytest.mark.parametrize("source", ["jpeg", "png", "webp", "gif"])
def test_every_format_is_made_of_every_other(source, form) -> None:
    image = opened(make(picture(source), format=form))

    assert (image.format, image.size) == (form.upper(), (20, 15))
    image = image.convert("RGB")
    assert is_red(image.getpixel((2, 7))) and is_blue(image.getpixel((17, 7)))


@pytest.mark.parametrize(
    ("wishes", "size"),
    [
        ({"width": 32, "height": 32}, (32, 24)),
        ({"width": 32, "height": None}, (32, 24)),
        ({"width": None, "height": 12}, (16, 12)),
        ({"width": 1, "height": 1}, (1, 1)),
        ({"width": 4000, "height": 4000}, (64, 48)),  # never enlarged
        ({"width": 30, "height": 30, "cover": True}, (30, 30)),
        ({"width": 10, "height": 40, "cover": True}, (10, 40)),
        ({"width": 100, "height": 100, "cover": True}, (100, 100)),
    ],
)
def test_the_size_is_as_wanted(wishes, size) -> None:
    assert opened(make(picture(), **wishes)).size == size


def test_a_line_of_pixels_stays_one() -> None:
    assert opened(make(picture(size=(5000, 1)), width=50, height=50)).size == (50, 1)


@pytest.mark.parametrize("form", ["jpeg", "png"])
def test_greyscale_has_no_colours(form) -> None:
    image = opened(make(picture(), format=form, greyscale=True))

    assert image.mode == "L"


def test_transparency_is_kept_where_the_format_knows_it_and_white_elsewhere() -> None:
    clear = io.BytesIO()
    Image.new("RGBA", (30, 30), (255, 0, 0, 0)).save(clear, "png")

    assert opened(make(clear.getvalue(), format="png")).getpixel((5, 5))[3] == 0
    assert opened(make(clear.getvalue(), format="webp", greyscale=True)).mode == "RGBA"
    assert opened(make(clear.getvalue(), format="jpeg")).getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("form", "mode"),
    [("png", "1"), ("png", "L"), ("png", "LA"), ("png", "P"), ("png", "RGBA"), ("jpeg", "CMYK"), ("jpeg", "L")],
)
@pytest.mark.parametrize("made_as", ["jpeg", "webp"])
def test_every_kind_of_pixel_is_read(form, mode, made_as) -> None:
    assert opened(make(picture(form, mode=mode), format=made_as)).size == (20, 15)


def test_sixteen_bits_a_pixel_are_read_as_they_look() -> None:
    file = io.BytesIO()
    Image.new("I;16", (30, 30), 40000).save(file, "png")

    image = opened(make(file.getvalue(), greyscale=True))

    assert abs(image.getpixel((5, 5)) - 40000 // 256) <= 1


@pytest.mark.parametrize("form", ["jpeg", "png", "webp"])
def test_it_is_turned_as_the_camera_was_held_and_says_nothing_else(form) -> None:
    made = make(held_sideways(form), format=form)

    image = opened(made)
    assert image.size == (15, 20)
    assert is_red(image.getpixel((7, 2))) and is_blue(image.getpixel((7, 17)))
    assert not image.getexif() and b"secret" not in made.content


def test_nothing_but_the_picture_is_left() -> None:
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "secret")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for source in (
        picture("png", pnginfo=text, icc_profile=profile, dpi=(300, 300)),
        picture("jpeg", comment=b"secret", icc_profile=profile, dpi=(300, 300)),
        picture("webp", icc_profile=profile, xmp=b"<x:xmpmeta>secret</x:xmpmeta>"),
    ):
        for form in ("png", "jpeg", "webp"):
            made = make(source, format=form)
            info = opened(made).info
            assert b"secret" not in made.content
            assert info.keys().isdisjoint({"icc_profile", "comment", "Comment", "exif", "xmp", "dpi"})


@pytest.mark.parametrize("form", ["gif", "webp", "png"])
def test_of_an_animation_the_first_picture_is_made(form) -> None:
    image = opened(make(animation(form), format="png"))

    assert getattr(image, "n_frames", 1) == 1
    assert image.convert("RGB").getpixel((5, 5))[0] < 20


@pytest.mark.parametrize("form", ["jpeg", "png", "webp", "gif"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_half_an_image_is_none(form, part) -> None:
    # Noise, so that there is something to be missing.
    file = io.BytesIO()
    Image.effect_noise((200, 200), 100).save(file, form)
    content = file.getvalue()

    with pytest.raises(Unmakeable, match="no whole"):
        make(content[: max(16, int(len(content) * part))])


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    bomb = wide_bomb()
    assert len(bomb) < 20_000

    with pytest.raises(Unmakeable, match="81,000,000 pixels"):
        make(bomb)


@pytest.mark.parametrize(
    "bomb",
    [partial(liar, 2**31 - 1), partial(liar, 100_000), partial(liar, 6000), text_bomb],
    ids=["2147483647", "100000", "6000", "text"],
)
def test_what_lies_about_its_size_is_refused(bomb: Callable[[], bytes]) -> None:
    with pytest.raises(Unmakeable):
        make(bomb())


def test_memory_is_limited_whatever_the_pixels_say() -> None:
    with pytest.raises(Unmakeable, match="memory"):
        make(wide_bomb(12_000), most_pixels=10**9, memory=300 * 1024**2, greyscale=True)


def test_time_is_limited() -> None:
    file = io.BytesIO()
    Image.effect_noise((500, 500), 100).save(file, "png")

    with pytest.raises(Unmakeable, match="SIGXCPU"):
        make(file.getvalue(), seconds=1, width=4096, height=4096, cover=True, format="webp", quality=95)


def test_the_size_of_the_result_is_limited() -> None:
    file = io.BytesIO()
    Image.effect_noise((300, 300), 100).save(file, "png")

    with pytest.raises(Unmakeable, match="smaller"):
        make(file.getvalue(), width=300, height=300, most_bytes=10_000)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<?xml version='1.0'?><svg/>",
        b"<html>",
        b"%PDF-1.7",
        b"%!PS-Adobe-3.0 EPSF-3.0",
        b"II*\x00\x08\x00\x00\x00",
        b"MM\x00*",
        b"BM6\x00\x00\x00",
        b"8BPS\x00\x01",
        b"\x00\x00\x01\x00",
        b"RIFF\x00\x00\x00\x00WAVEfmt ",
        b"PK\x03\x04",
        b"\x7fELF",
        b" \xff\xd8\xff",
    ],
)
def test_what_is_no_image_that_we_read_is_told_by_its_content(content) -> None:
    assert sniffed(content) is None


@pytest.mark.parametrize(
    "head", [b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"RIFF\x10\x00\x00\x00WEBPVP8 ", b"GIF89a"]
)
def test_a_beginning_alone_is_no_image(head) -> None:
    with pytest.raises(Unmakeable):
        make(head + b"%!PS\n(%pipe%id) (w) file" + bytes(100))


def test_the_source_must_be_what_it_was_sniffed_as() -> None:
    with pytest.raises(Unmakeable, match="no whole JPEG"):
        make_image(io.BytesIO(picture("png")), replace(ORDER, source="jpeg"))


PROBE = """
import io, json, os, resource, runpy, sys
said, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
runpy.run_path({darkroom!r})
names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_NPROC")
told = {{name: resource.getrlimit(getattr(resource, name))[0] for name in names}}
told["environment"] = sorted(os.environ)
told["nice"] = os.nice(0)
told["open"] = [int(one) for one in os.listdir("/proc/self/fd")]
told["ours"] = [name for name in sys.modules if name.split(".")[0] in ("django", "jobs", "execution", "accounts")]
print(json.dumps({{"refused": json.dumps(told)}}), file=said)
"""


def test_where_it_is_decoded_there_is_nothing_to_be_had(monkeypatch, tmp_path) -> None:
    probe = tmp_path / "probe.py"
    probe.write_text(PROBE.format(darkroom=str(studio.SCRIPT)))
    monkeypatch.setattr(studio, "SCRIPT", probe)

    with pytest.raises(Unmakeable) as refused:
        make(picture("png"))

    told = json.loads(str(refused.value))
    assert set(told.pop("environment")) <= {"LC_CTYPE"}  # which Python sets for itself
    assert max(told.pop("open")) <= 3  # in, out, errors, and the list itself
    assert told == {
        "RLIMIT_AS": ORDER.memory,
        "RLIMIT_CPU": ORDER.seconds,
        "RLIMIT_FSIZE": ORDER.most_bytes + 10_000,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_NPROC": 0,
        "nice": 19,  # every other process comes first
        "ours": [],
    }
