"""The deliberate defects of the chaos harness still find what they break: one that does not would prove nothing."""

from __future__ import annotations

import os

import pytest

from tests.chaos.variants import VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
def test_a_defect_finds_what_it_breaks(name) -> None:
    child = os.fork()  # what it breaks stays broken there
    if not child:
        code = 1
        try:
            VARIANTS[name]()
            code = 0
        finally:
            os._exit(code)

    assert os.waitpid(child, 0)[1] == 0
