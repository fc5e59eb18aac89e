"""A slice of the campaign that `make fuzz` runs: every route, on a real server, with all of schemathesis's checks."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.campaign import Campaign

# The strictest database of the three, and once is enough.
pytestmark = pytest.mark.skipif(os.environ.get("PUNCTUAL_TEST_MODE") != "database", reason="runs in mode database only")


@pytest.mark.timeout(600)  # seconds: a thousand cases, perhaps on a machine with much else to do
def test_no_route_answers_what_its_description_does_not_name() -> None:
    with Campaign.at_work() as campaign:
        campaign.round(seed=1, examples=2, phases="examples,coverage,fuzzing")

    assert campaign.told.cases > 1000
    assert not campaign.told.failures, campaign.told.failures[0]
