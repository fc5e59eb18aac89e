"""What a test needs from outside and may not find: installed where that can be done, told loudly where it cannot.

Where everything has to be there, which is in CI, what is missing is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import NoReturn

import pytest

from tests.servers.debian import install_package
from tests.servers.order import Unavailable


def not_tried(reason: str, *, installable: bool = True) -> NoReturn:
    """Skip with a loud line; in CI, where everything that can be installed has to be there, fail."""
    part_not_tried(reason, installable=installable)
    pytest.skip(reason)


def part_not_tried(reason: str, *, installable: bool = True) -> None:
    """The same for a part of a test, the rest of which goes on."""
    if installable and os.environ.get("CI"):
        pytest.fail(reason)
    print(f"\nNOT TRIED: {reason}", file=sys.__stderr__)


def needed(program: str, *, package: str) -> str:
    """Where the program is, be it that Debian's package had to be installed first; not tried where that fails."""
    try:
        return obtained(program, package=package)
    except Unavailable as error:
        not_tried(f"{error.reason}. {error.remedy}")


def obtained(program: str, *, package: str) -> str:
    """The same for who can do without: raises Unavailable with the remedy."""
    if found := shutil.which(program):
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable(f"{program} is not installed", f"Have root run: apt-get install {package}")
    print(f"{program}: installing {package} with apt-get ...", file=sys.__stderr__, flush=True)
    install_package(package)
    if found := shutil.which(program):
        return found
    raise Unavailable(f"the package {package} was installed and brought no {program}", f"Put {program} on the PATH")
