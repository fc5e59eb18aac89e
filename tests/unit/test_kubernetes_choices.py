"""What an overlay may choose: PostgreSQL alone, the Gateway API, the Prometheus operator. Each is really built."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.db import connection
from django.utils import timezone

from jobs.models import Execution
from tests.deploying import ROOT, unknown
from tests.missing import not_tried
from tests.unit.test_kubernetes import FOLDER, PRODUCTION, labels, of_kind, selected, settings_given

POSTGRESQL = FOLDER / "overlays/postgresql"
VERSION = re.search(
    r'variable "kubernetes_version".*?default     = "([\d.]+)"',
    (ROOT / "deploy/terraform/variables.tf").read_text(),
    re.S,
)[1]
OTHERS = ("keda.sh/", "monitoring.coreos.com/", "gateway.networking.k8s.io/")  # Kubernetes has no schema for theirs
EXECUTORS = {"executor-http-request", "executor-send-email", "executor-image-thumbnail"}
PROCESSES = {"poller", "recoverer", "watcher"} | EXECUTORS


def built(folder: Path, overlay: Path, *, components: Sequence[str] = (), without: Sequence[str] = ()) -> list[dict]:
    if shutil.which("kubectl") is None:
        not_tried("kubectl is not installed, and nothing else builds an overlay. Install the package of Kubernetes.")
    shutil.copytree(FOLDER, folder)
    place = folder / overlay.relative_to(FOLDER)
    shutil.copy(place / "secrets.env.example", place / "secrets.env")
    said = yaml.safe_load((place / "kustomization.yaml").read_text())
    said["resources"] = [each for each in said["resources"] if each not in without]
    said["components"] = [f"../../components/{name}" for name in components]
    (place / "kustomization.yaml").write_text(yaml.safe_dump(said))

    done = subprocess.run(["kubectl", "kustomize", place], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    made = list(yaml.safe_load_all(done.stdout))
    for each in made:
        if not each["apiVersion"].startswith(OTHERS):
            assert kubernetes_validate.validate(each, VERSION, strict=True) == VERSION
    return made


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory) -> list[dict[str, Any]]:
    return built(tmp_path_factory.mktemp("built") / "kubernetes", POSTGRESQL)


def settings_of(made: list[dict[str, Any]]) -> set[str]:
    return {name for kind in ("ConfigMap", "Secret") for each in of_kind(kind, made) for name in each["data"]}


def test_postgresql_alone_names_no_other_server(postgresql) -> None:
    given = settings_of(postgresql)
    [servers] = [each for each in of_kind("NetworkPolicy", postgresql) if each["metadata"]["name"] == "servers"]

    assert "DATABASE_URL" in given and not given & {"REDIS_URL", "AMQP_URL", "RABBITMQ_QUEUE_TYPE"}
    assert unknown(given) == set()
    assert [port["port"] for rule in servers["spec"]["egress"] for port in rule["ports"]] == [5432]


def test_postgresql_alone_differs_from_production_in_nothing_but_servers() -> None:
    mine, theirs = (yaml.safe_load((each / "kustomization.yaml").read_text()) for each in (POSTGRESQL, PRODUCTION))
    literals = [set(each["configMapGenerator"][0].pop("literals")) for each in (mine, theirs)]

    assert mine == theirs
    assert {each.split("=")[0] for each in literals[1] - literals[0]} == {"RABBITMQ_QUEUE_TYPE"}
    for name in ("ingress.yaml", "names.yaml"):
        assert (POSTGRESQL / name).read_text() == (PRODUCTION / name).read_text()


def test_executors_follow_what_waits_in_postgresql_down_to_none(postgresql) -> None:
    scalers = {each["metadata"]["name"]: each["spec"] for each in of_kind("ScaledObject", postgresql)}

    assert scalers.keys() == EXECUTORS
    for name, spec in scalers.items():
        task = name.removeprefix("executor-").replace("-", "_")
        waiting, held = spec["triggers"]
        assert spec["minReplicaCount"] == 0 and {waiting["type"], held["type"]} == {"postgresql"}
        assert f"task = '{task}'" in waiting["metadata"]["query"] and f'["{task}"]' in held["metadata"]["query"]


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="PostgreSQL's")
@pytest.mark.django_db
def test_what_waits_is_what_an_executor_may_claim(postgresql, life) -> None:
    [scaler] = [each for each in of_kind("ScaledObject", postgresql) if each["metadata"]["name"].endswith("email")]
    life.create({"type": "cron", "expression": "* * * * *", "timezone": "UTC"})
    life.poll_until(life.now + timedelta(minutes=3))
    with connection.cursor() as cursor:
        answers = []
        for trigger in scaler["spec"]["triggers"]:
            cursor.execute(trigger["metadata"]["query"])
            answers.append(cursor.fetchone()[0])

    assert answers == [Execution.objects.ready(timezone.now(), ["send_email"]).count(), 0] and answers[0] > 1


def test_the_gateway_stands_where_the_ingress_stood(tmp_path) -> None:
    made = built(tmp_path / "kubernetes", PRODUCTION, components=["gateway"], without=["ingress.yaml"])
    [route], [service] = of_kind("HTTPRoute", made), of_kind("Service", made)
    [rule] = route["spec"]["rules"]
    [asked] = [each["spec"] for each in of_kind("NetworkPolicy", made) if each["metadata"]["name"] == "web-is-asked"]
    gateway = route["spec"]["parentRefs"][0]["namespace"]

    assert of_kind("Ingress", made) == []
    assert route["spec"]["hostnames"] == [settings_given()["ALLOWED_HOSTS"]]
    assert rule["backendRefs"] == [{"name": service["metadata"]["name"], "port": service["spec"]["ports"][0]["port"]}]
    let_in = [each["namespaceSelector"]["matchLabels"].popitem()[1] for each in asked["ingress"][0]["from"]]
    assert let_in == [gateway, "monitoring"]


def test_the_prometheus_operator_scrapes_every_process_under_the_names_that_alerts_know(tmp_path) -> None:
    made = built(tmp_path / "kubernetes", PRODUCTION, components=["monitors"])
    [of_web], [of_others] = of_kind("ServiceMonitor", made), of_kind("PodMonitor", made)
    [service] = of_kind("Service", made)
    workloads = {each["metadata"]["name"]: each["spec"]["template"] for each in of_kind("Deployment", made)}

    assert of_web["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert of_web["spec"]["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]
    scraped = {name for name in workloads if selected(of_others["spec"]["selector"], labels(name))}
    assert scraped == PROCESSES
    for name in scraped:
        ports = [port["name"] for port in workloads[name]["spec"]["containers"][0]["ports"]]
        assert of_others["spec"]["podMetricsEndpoints"][0]["port"] in ports
    jobs = {each["job_name"] for each in prometheus()["scrape_configs"]} - {"rabbitmq"}
    key = of_others["spec"]["jobLabel"]
    assert {labels(name)[key] for name in scraped} | {service["metadata"]["labels"][of_web["spec"]["jobLabel"]]} == jobs


def prometheus() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())


def test_every_file_of_a_choice_is_used() -> None:
    for folder in (*(FOLDER / "components").iterdir(), POSTGRESQL):
        said = yaml.safe_load((folder / "kustomization.yaml").read_text())
        used = {*said["resources"], *said.get("configurations", [])}
        used |= {each["path"] for each in said.get("patches", []) if "path" in each}
        assert {path.name for path in folder.glob("*.yaml")} - used == {"kustomization.yaml"}
