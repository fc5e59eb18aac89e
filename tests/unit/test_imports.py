"""The direction of imports is part of the design."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_imports_point_the_way_the_design_says() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout
