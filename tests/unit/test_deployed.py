"""Dashboard and alerts are whole, and link to what to do. tests/whole/test_metrics.py finds what they ask for."""

from __future__ import annotations

import re
import subprocess
from itertools import combinations

import pytest

from tests.deployed import ALERTS, PROMETHEUS, ROOT, alerts, dashboard, expressions, questions, targets
from tests.missing import needed
from tests.promql import EVERYWHERE, labels_in, labels_left, metrics_in

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
    assert all(
        metrics_in(expression) or labels_in(expression) for expression in expressions() if "up{" not in expression
    )


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        ('rate(a{b=~"x{y}", c!="(d,e=)"}[5m])', {("a", "b"), ("a", "c")}),
        ('a{job="web"} == 0', set()),  # every series has it, from Prometheus
        ("sum by (b, le) (rate(a[5m])) / max by (d) (c)", {("a", "b"), ("a", "le"), ("c", "d")}),
        ("max by (b) (a) > 1 and on (d) deriv(c[1m]) > 0 or e", {("a", "b"), ("a", "d"), ("c", "d")}),
        ('label_replace(a > 0, "new", "$1", "old", "(.+)") and on (new) c', {("a", "old"), ("c", "new")}),
    ],
)
def test_each_label_is_asked_of_the_metrics_that_must_have_it(asked: str, labels: set[tuple[str, str]]) -> None:
    assert labels_in(asked) == labels


@pytest.mark.parametrize("asked", ["sum(a) by (b)", "sum without (b) (a)", "a * on (b) group_left (c) d"])
def test_what_nobody_could_check_is_refused(asked: str) -> None:
    with pytest.raises(ValueError):
        labels_in(asked)


@pytest.mark.parametrize(("asked", "shown"), list(questions()))
def test_a_legend_and_an_alert_show_labels_that_the_answer_has(asked: str, shown: set[str]) -> None:
    left = labels_left(asked)

    assert shown <= (EVERYWHERE if left is None else left)


def test_what_a_panel_is_narrowed_down_by_can_be_chosen() -> None:
    offered = {variable["name"] for variable in dashboard()["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", " ".join(target["expr"] for target in targets())))

    assert used - {"__rate_interval"} <= offered


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
