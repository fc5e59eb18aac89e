"""Dashboard and alerts are whole, and link to what to do. tests/whole/test_metrics.py finds what they ask for."""

from __future__ import annotations

import re
import subprocess
from itertools import combinations

import pytest

from tests.deployed import ALERTS, PROMETHEUS, ROOT, alerts, dashboard, expressions
from tests.missing import needed
from tests.promql import metrics_in

REPOSITORY = "https://github.com/punctual/punctual"
TO_INSTALL = 300  # seconds, where promtool has to be installed first


def anchors() -> set[str]:
    """Where headings of the runbook can be linked to."""
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_says_what_it_means_and_links_to_what_to_do(alert) -> None:
    notes = alert["annotations"]
    page, anchor = notes["runbook_url"].split("#")

    assert notes["summary"] and notes["description"]
    assert alert["labels"]["severity"] in ("warning", "critical")
    assert page == f"{REPOSITORY}/blob/main/docs/runbook.md" and anchor in anchors()


def test_links_lead_to_the_repository_whose_image_is_rolled_out() -> None:
    overlay = (ROOT / "deploy/kubernetes/overlays/production/kustomization.yaml").read_text()

    assert re.findall(r"newName: ghcr\.io/(\S+)", overlay) == [REPOSITORY.removeprefix("https://github.com/")]


def test_every_alert_is_tested() -> None:
    tested = (PROMETHEUS / "alerts_test.yml").read_text()

    assert [alert["alert"] for alert in alerts() if alert["alert"] not in tested] == []


def test_the_dashboard_has_its_name_and_no_two_panels_in_one_place() -> None:
    shown = dashboard()
    places = [(panel["title"], panel["gridPos"]) for panel in shown["panels"]]

    assert shown["title"] == "Job Scheduler Overview"
    assert len({panel["id"] for panel in shown["panels"]}) == len(places)
    assert [(one, other) for (one, here), (other, there) in combinations(places, 2) if _overlap(here, there)] == []
    assert all(here["x"] + here["w"] <= 24 for _, here in places)


def test_metrics_are_found_in_expressions() -> None:
    asked = 'sum by (le, x) (rate(a_b{c="d_e"}[5m])) / max(f) > 0.05 and on (g) label_replace(h_i, "j", "$1", "k", "")'

    assert metrics_in(asked) == {"a_b", "f", "h_i"}
    assert all(metrics_in(expression) for expression in expressions() if "up{" not in expression)


@pytest.mark.timeout(TO_INSTALL)
def test_promtool_finds_nothing_wrong_and_every_alert_fires_when_it_should() -> None:
    promtool = needed("promtool", package="prometheus")

    for command in (
        ["check", "rules", str(ALERTS)],
        ["test", "rules", str(PROMETHEUS / "alerts_test.yml")],
        ["check", "config", str(PROMETHEUS / "one-machine.yml")],
    ):
        ran = subprocess.run([promtool, *command], capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    checked = subprocess.run(
        [promtool, "check", "config", "--syntax-only", str(PROMETHEUS / "prometheus.yml")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _overlap(here: dict[str, int], there: dict[str, int]) -> bool:
    return all(
        here[start] < there[start] + there[length] and there[start] < here[start] + here[length]
        for start, length in (("x", "w"), ("y", "h"))
    )
