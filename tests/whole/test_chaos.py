"""A slice of the campaign that `make chaos` runs: real processes on servers of their own, both broken all the time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(
    os.environ.get("PUNCTUAL_TEST_MODE") != "full", reason="needs all three servers, and starts its own"
)
def test_a_short_campaign_loses_nothing_and_repeats_nothing_without_a_reason() -> None:
    command = [sys.executable, "-m", "tests.chaos", "--seconds", "12", "--seed", "5", "--mode", "full", "--rate", "50"]

    campaign = subprocess.run(command, capture_output=True, text=True, timeout=115)

    assert campaign.returncode == 0, campaign.stdout + campaign.stderr
