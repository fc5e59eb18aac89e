"""Has an image made in a limited process, and says what came of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO

SCRIPT = Path(__file__).with_name("darkroom.py")
GLANCE = 0.5  # seconds: the longest single wait, so that an interruption is heard
SHARED = 5  # with how many others a loaded machine may share its processor
STARTED = 30  # seconds: by then any machine has started a process
LONGEST_HEAD = 10_000  # bytes of the line that says what was made
# What ends a process because of what it was given, rather than because of how the machine is doing.
OF_ITS_OWN = {signal.SIGXCPU, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL}


class Unmakeable(Exception):
    """No image can be made of this, however often it is tried."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is wanted, and what it may cost."""

    source: str  # format, as it was sniffed
    format: str
    width: int | None
    height: int | None
    cover: bool
    greyscale: bool
    quality: int
    most_pixels: int
    memory: int  # bytes
    seconds: int  # of processor time
    most_bytes: int  # of the result


@dataclass(frozen=True, slots=True)
class Made:
    content: bytes
    width: int
    height: int


def make_image(source: BinaryIO, order: Order) -> Made:
    """The image that is wanted, or Unmakeable. Other errors are the machine's, and may be better later."""
    # Files, not pipes: a file's size can be limited, and nobody has to keep pumping.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as result, tempfile.TemporaryFile() as said:
        copyfileobj(source, given)
        given.seek(0)
        code = _run(order, given, result, said)
        result.seek(0)
        head = result.readline(LONGEST_HEAD)
        if code == 0 and head:
            told = json.loads(head)
            if "refused" in told:
                raise Unmakeable(str(told["refused"])[:500])
            return Made(result.read(), int(told["width"]), int(told["height"]))
        said.seek(0)
        raise _fault(code, said.read(2000).decode(errors="replace"))


def _run(order: Order, given: IO[bytes], result: IO[bytes], said: IO[bytes]) -> int:
    command = [sys.executable, "-I", str(SCRIPT), json.dumps(asdict(order))]
    process = subprocess.Popen(command, stdin=given, stdout=result, stderr=said, env={}, cwd=os.sep)
    patience = STARTED + order.seconds * SHARED
    ends = time.monotonic() + patience
    try:
        while True:
            try:
                return process.wait(GLANCE)
            except subprocess.TimeoutExpired:
                if time.monotonic() > ends:
                    raise TimeoutError(f"The image was not made within {patience} s.") from None
    finally:
        process.kill()
        process.wait()


def _fault(code: int, said: str) -> Exception:
    if code < 0 and -code in OF_ITS_OWN:
        return Unmakeable(
            f"The image ended its decoder by {signal.Signals(-code).name}: it takes too much, or is broken."
        )
    return RuntimeError(f"The process that makes images ended with {code}: {said.strip()[-500:]}")
