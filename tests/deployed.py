"""What is deployed for Prometheus and Grafana, as data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROMETHEUS = ROOT / "deploy" / "prometheus"
VALUES = re.compile(r"label_values\((?:(.+),)?\s*(\w+)\)")
SHOWN = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*[|}]")  # in a legend, or in the words of an alert
ALERTS = PROMETHEUS / "rules" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "job-scheduler-overview.json"


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    return json.loads(DASHBOARD.read_text())


def expressions() -> Iterator[str]:
    """All that dashboard and alerts ask Prometheus."""
    yield from (expression for expression, _ in questions())
    yield from (note["expr"] for note in dashboard()["annotations"]["list"] if "expr" in note)


def questions() -> Iterator[tuple[str, set[str]]]:
    """What is asked, and the labels of the answer that are shown to people."""
    for alert in alerts():
        yield alert["expr"], set(SHOWN.findall(" ".join(alert["annotations"].values())))
    yield from ((target["expr"], set(SHOWN.findall(target["legendFormat"]))) for target in targets())


def targets() -> Iterator[dict[str, Any]]:
    for panel in dashboard()["panels"]:
        yield from panel.get("targets", [])


def choices() -> Iterator[tuple[str, str]]:
    """Each metric and label whose values the dashboard offers."""
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            found = VALUES.fullmatch(variable["query"]["query"])
            assert found and found[1], f"{variable['name']}: name a metric too, or every label there is would do"
            yield found[1], found[2]
