"""What a test needs from outside and may not find: told loudly here, and an error where everything has to be there."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import pytest


def not_tried(reason: str, *, installable: bool = True) -> NoReturn:
    """Skip with a loud line; in CI, where everything that can be installed has to be there, fail."""
    if installable and os.environ.get("CI"):
        pytest.fail(reason)
    print(f"\nNOT TRIED: {reason}", file=sys.__stderr__)
    pytest.skip(reason)
