"""The mirror of Debian that this machine installs from, read from what apt itself reads. Pure but for `found`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.servers.order import Unavailable

FOLDER = Path("/etc/apt")


def found(folder: Path = FOLDER) -> str:
    for file in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if not file.is_file():
            continue
        text = file.read_text(errors="replace")
        for address in deb822(text) if file.suffix == ".sources" else one_line(text):
            if address.rstrip("/").endswith("/debian"):
                return address.rstrip("/")
    raise Unavailable(
        f"no source in {folder} is a mirror of Debian",
        "run it on Debian, or in a container of Debian, as the workflow does",
    )


def deb822(text: str) -> Iterator[str]:
    """Addresses of the enabled stanzas of a `.sources` file."""
    for stanza in text.split("\n\n"):
        lines = [line.partition(":") for line in stanza.splitlines() if not line.startswith(("#", " ", "\t"))]
        fields = {name.strip().lower(): value.split() for name, _, value in lines}
        if fields.get("enabled") != ["no"] and "deb" in fields.get("types", []):
            yield from fields.get("uris", [])


def one_line(text: str) -> Iterator[str]:
    """Addresses of the lines of a `sources.list`, whatever options these have."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["deb"]:
            yield from [word for word in words if "://" in word][:1]
