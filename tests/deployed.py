"""What is deployed for Prometheus and Grafana, as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROMETHEUS = ROOT / "deploy" / "prometheus"
ALERTS = PROMETHEUS / "rules" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "job-scheduler-overview.json"


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    return json.loads(DASHBOARD.read_text())


def expressions() -> Iterator[str]:
    """All that dashboard and alerts ask Prometheus."""
    yield from (alert["expr"] for alert in alerts())
    for panel in dashboard()["panels"]:
        yield from (target["expr"] for target in panel.get("targets", []))
