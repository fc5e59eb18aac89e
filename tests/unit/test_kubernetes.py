"""The manifests hold together: names, labels, ports and variables that refer to each other agree."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.conf import settings

from execution.broker.rabbitmq.topology import Topology
from execution.registry import registry
from tests.deploying import FULL_MODE_NEEDS, PINNED, PRODUCTION_NEEDS, ROOT, documents, parse_command, unknown
from tests.missing import not_tried

FOLDER = ROOT / "deploy/kubernetes"
PRODUCTION = FOLDER / "overlays/production"
BASE = list(documents("base"))
OVERLAY = list(documents("overlays/production"))
DEPLOYMENTS = {each["metadata"]["name"]: each for each in BASE if each["kind"] == "Deployment"}
WORKLOADS = DEPLOYMENTS | {each["metadata"]["name"]: each for each in BASE if each["kind"] == "Job"}
SHIPPED = [name for name in registry.local_names() if registry.get(name).handler.__module__.startswith("execution.")]
each_workload = pytest.mark.parametrize("name", WORKLOADS)


def pod(name: str) -> dict[str, Any]:
    return WORKLOADS[name]["spec"]["template"]["spec"]


def container(name: str) -> dict[str, Any]:
    [only] = pod(name)["containers"]
    return only


def labels(name: str) -> dict[str, str]:
    return WORKLOADS[name]["spec"]["template"]["metadata"]["labels"]


def of_kind(kind: str, among: list[dict[str, Any]] = BASE + OVERLAY) -> list[dict[str, Any]]:
    return [each for each in among if each["kind"] == kind]


def selected(selector: dict[str, Any], by: dict[str, str]) -> bool:
    """Whether pods with these labels are meant. A rule of another kind than ours is an error, and no silent no."""
    assert all(rule["operator"] == "In" for rule in selector.get("matchExpressions", []))
    return selector.get("matchLabels", {}).items() <= by.items() and all(
        by.get(rule["key"]) in rule["values"] for rule in selector.get("matchExpressions", [])
    )


def reaches_outside(name: str) -> set[int]:
    """The ports of public addresses that any policy lets a workload reach; of a range, where it begins."""
    return {
        port["port"]
        for policy in of_kind("NetworkPolicy")
        if selected(policy["spec"].get("podSelector", {}), labels(name))
        for rule in policy["spec"].get("egress", [])
        if any(to.get("ipBlock", {}).get("cidr") == "0.0.0.0/0" for to in rule["to"])
        for port in rule["ports"]
    }


def kustomization(folder) -> dict[str, Any]:
    return yaml.safe_load((folder / "kustomization.yaml").read_text())


def settings_given() -> dict[str, str]:
    literals = [
        literal
        for folder in (FOLDER / "base", PRODUCTION)
        for literal in kustomization(folder)["configMapGenerator"][0]["literals"]
    ]
    return dict(literal.split("=", 1) for literal in literals)


def secrets_named() -> dict[str, str]:
    lines = (PRODUCTION / "secrets.env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("folder", [FOLDER / "base", PRODUCTION], ids=["base", "production"])
def test_every_file_is_used_and_every_file_that_is_used_is_there(folder) -> None:
    said = kustomization(folder)
    used = {*said["resources"], *said.get("configurations", []), *(each["path"] for each in said.get("patches", []))}

    assert all((folder / name).exists() for name in used)
    assert {path.name for path in folder.glob("*.yaml")} - used == {"kustomization.yaml"}


@each_workload
def test_it_runs_as_nobody_and_writes_where_it_may(name) -> None:
    inside = container(name)

    assert pod(name)["securityContext"]["runAsNonRoot"] and pod(name)["securityContext"]["runAsUser"] == 10001
    assert pod(name)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(name)["automountServiceAccountToken"] is False
    assert inside["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {mount["mountPath"] for mount in inside["volumeMounts"]} == {"/var/lib/punctual", "/tmp"}
    assert {mount["name"] for mount in inside["volumeMounts"]} == {volume["name"] for volume in pod(name)["volumes"]}


@each_workload
def test_it_says_what_it_needs_and_what_it_may_take(name) -> None:
    resources = container(name)["resources"]

    assert {"cpu", "memory"} <= resources["requests"].keys() and "memory" in resources["limits"]


def test_thumbnails_on_every_thread_fit_into_the_memory_of_their_executor() -> None:
    inside = container("executor-image-thumbnail")
    threads = int({each["name"]: each["value"] for each in inside["env"]}["EXECUTOR_THREADS"])
    spare = max(1, threads // 4)  # EXECUTOR_SPARE_THREADS where nothing is said
    limit = int(inside["resources"]["limits"]["memory"].removesuffix("Gi")) * 1024**3

    assert limit > (threads + spare) * settings.IMAGE_MEMORY


@each_workload
def test_settings_and_secrets_reach_it_and_each_is_read_by_somebody(name) -> None:
    sources = [next(iter(source.values()))["name"] for source in container(name)["envFrom"]]
    own = {variable["name"] for variable in container(name).get("env", [])}

    assert sources == ["punctual-settings", "punctual-secrets"]
    assert unknown(own) == set()


def test_all_that_production_needs_is_given_and_known() -> None:
    given = settings_given().keys() | secrets_named().keys()

    assert given >= PRODUCTION_NEEDS | FULL_MODE_NEEDS and settings_given()["PRODUCTION"] == "true"
    assert unknown(given) == set()
    assert set(secrets_named().values()) == {""}  # an example, with nothing that anybody could leave as it is


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "web"])
def test_each_command_takes_the_arguments_it_is_given(name) -> None:
    parse_command(container(name)["command"])


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_deployment_selects_its_own_pods_and_no_others(name) -> None:
    selector = DEPLOYMENTS[name]["spec"]["selector"]["matchLabels"]

    assert [other for other in WORKLOADS if selector.items() <= labels(other).items()] == [name]


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_deployment_is_probed_by_what_it_has(name) -> None:
    inside = container(name)

    assert {"startupProbe", "livenessProbe"} <= inside.keys()
    if name == "web":
        assert [inside[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")] == [
            "/healthz",
            "/readyz",
        ]
    else:
        asked = {probe: inside[f"{probe}Probe"]["exec"]["command"] for probe in ("startup", "liveness", "readiness")}
        healthy = ["python", "/app/deploy/healthy.py"]
        assert asked == {
            "startup": [*healthy, "loop"],
            "liveness": [*healthy, "loop"],
            "readiness": [*healthy, "ready"],
        }


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_what_runs_gets_its_time_before_it_is_killed(name) -> None:
    waits = container(name).get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])

    assert pod(name)["terminationGracePeriodSeconds"] > float(settings_given()["STOP_GRACE"]) + 2 * 5 + float(waits[1])


def test_the_way_from_the_ingress_to_the_web_has_no_gap() -> None:
    [ingress], [service] = of_kind("Ingress"), of_kind("Service")
    [rule] = ingress["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    [port] = service["spec"]["ports"]

    assert backend == {"name": service["metadata"]["name"], "port": {"name": port["name"]}}
    assert service["spec"]["selector"].items() <= labels("web").items()
    assert port["targetPort"] in [port["name"] for port in container("web")["ports"]]
    assert rule["host"] == settings_given()["ALLOWED_HOSTS"] == ingress["spec"]["tls"][0]["hosts"][0]


def test_budgets_and_scalers_are_for_something_that_is_there() -> None:
    for budget in of_kind("PodDisruptionBudget"):
        wanted = budget["spec"]["selector"]["matchLabels"].items()
        assert [name for name in DEPLOYMENTS if wanted <= labels(name).items()] == [budget["metadata"]["name"]]
    for scaler in of_kind("HorizontalPodAutoscaler") + of_kind("ScaledObject"):
        target = DEPLOYMENTS[scaler["spec"]["scaleTargetRef"]["name"]]
        assert "replicas" not in target["spec"]  # or each rollout would set back what was scaled


def test_every_task_has_executors_that_follow_its_queue_down_to_none() -> None:
    serving = {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for each in of_kind("ScaledObject")}

    assert len(serving) == len(SHIPPED)
    for task in SHIPPED:
        name = f"executor-{task.replace('_', '-')}"
        queue, held = serving[name]["triggers"]
        threads = {each["name"]: each["value"] for each in container(name)["env"]}["EXECUTOR_THREADS"]
        assert container(name)["command"][-2:] == ["--tasks", task]
        assert queue["metadata"]["queueName"] == Topology(prefix="").queue(task)
        assert f"""tasks = '["{task}"]'""" in held["metadata"]["query"]
        assert held["metadata"]["targetQueryValue"] == threads
        assert serving[name]["minReplicaCount"] == 0


def test_scalers_know_how_to_ask() -> None:
    known = {each["metadata"]["name"]: each["spec"]["secretTargetRef"] for each in of_kind("TriggerAuthentication")}

    for scaler in of_kind("ScaledObject"):
        assert {trigger["authenticationRef"]["name"] for trigger in scaler["spec"]["triggers"]} == set(known)
    assert {reference["key"] for references in known.values() for reference in references} <= secrets_named().keys()


def test_nothing_goes_in_or_out_unless_a_policy_says_so() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind("NetworkPolicy")}
    ports = {port["name"] for name in DEPLOYMENTS for port in container(name)["ports"]}

    assert policies["nothing-unless-said"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for spec in policies.values():
        for rule in spec.get("ingress", []):
            assert rule["from"] and {port["port"] for port in rule["ports"]} <= ports
    outside = policies["the-world"]["egress"][0]["to"][0]["ipBlock"]
    assert "169.254.0.0/16" in outside["except"] and "10.0.0.0/8" in outside["except"]


def test_the_bucket_is_reached_by_who_writes_reads_and_prunes_it_and_mail_by_who_sends_it() -> None:
    mail, https = {25, 465, 587}, {443}

    assert {name: reaches_outside(name) & (mail | https) for name in WORKLOADS} == {
        "web": mail | https,  # invitations, and what is uploaded
        "recoverer": https,  # prunes what is uploaded
        "watcher": mail | https,
        "executor-http-request": mail | https,
        "executor-send-email": mail | https,
        "executor-image-thumbnail": mail | https,
        "poller": set(),
        "migrate": set(),
    }


def test_the_role_for_the_bucket_is_asked_for_by_who_uses_the_bucket() -> None:
    [policy] = [each["spec"] for each in of_kind("NetworkPolicy") if each["metadata"]["name"] == "the-role"]

    assert {name for name in WORKLOADS if selected(policy["podSelector"], labels(name))} == {
        "web",
        "recoverer",
        "executor-image-thumbnail",
    }
    assert policy["egress"][0]["to"] == [{"ipBlock": {"cidr": "169.254.170.23/32"}}]


def test_the_policy_that_the_page_about_tracing_shows_lets_out_who_has_spans() -> None:
    page = (ROOT / "docs/tracing.md").read_text(encoding="utf-8")
    [policy] = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", page, re.S))

    assert {name for name in WORKLOADS if selected(policy["spec"]["podSelector"], labels(name))} == {
        name for name in WORKLOADS if name in ("web", "recoverer") or name.startswith("executor")
    }
    assert policy["spec"]["egress"][0]["ports"] == [{"protocol": "TCP", "port": 4318}]
    assert policy["metadata"]["labels"] == {"punctual/phase": "before"}


def test_what_must_be_there_before_the_processes_is_rolled_out_before_them() -> None:
    first = {each["kind"] for each in BASE if each["metadata"].get("labels", {}).get("punctual/phase") == "before"}
    script = (FOLDER / "roll-out.sh").read_text()

    assert first == {"Namespace", "ServiceAccount", "Job", "NetworkPolicy"}
    assert kustomization(FOLDER / "base")["configMapGenerator"][0]["options"]["labels"] == {"punctual/phase": "before"}
    assert kustomization(PRODUCTION)["secretGenerator"][0]["options"]["labels"] == {"punctual/phase": "before"}
    assert script.index("--selector punctual/phase=before") < script.index("wait --for=condition=complete")


def built(folder: Path, change: Callable[[dict[str, Any]], object] = lambda said: None) -> str:
    """The production overlay as it would be applied, with a change to its kustomization."""
    if shutil.which("kubectl") is None:
        not_tried("kubectl is not installed, and nothing else builds an overlay. Install the package of Kubernetes.")
    shutil.copytree(FOLDER, folder)
    overlay = folder / "overlays/production"
    shutil.copy(overlay / "secrets.env.example", overlay / "secrets.env")
    said = kustomization(overlay)
    change(said)
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(said))

    done = subprocess.run(["kubectl", "kustomize", overlay], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def production(tmp_path_factory) -> str:
    return built(tmp_path_factory.mktemp("built") / "kubernetes")


def test_an_overlays_own_image_is_what_every_workload_runs(tmp_path) -> None:
    def mine(said: dict[str, Any]) -> None:
        said["images"] = [{"name": "punctual", "newName": "registry.example.com/team/jobs", "newTag": "2027.1"}]

    made = list(yaml.safe_load_all(built(tmp_path / "kubernetes", mine)))
    run = {each["metadata"]["name"]: _found(each, "image") for each in made if each["kind"] in ("Deployment", "Job")}

    assert run == {name: ["registry.example.com/team/jobs:2027.1"] for name in WORKLOADS}


def test_the_cluster_that_terraform_makes_knows_every_field(production) -> None:
    variables = (ROOT / "deploy/terraform/variables.tf").read_text()
    version = re.search(r'variable "kubernetes_version".*?default     = "([\d.]+)"', variables, re.S)[1]
    # KEDA's kinds are its own: Kubernetes has no schema for them, so they are left out.
    known = [each for each in yaml.safe_load_all(production) if not each["apiVersion"].startswith("keda.sh/")]

    wrong = []
    for each in known:
        try:
            assert kubernetes_validate.validate(each, version, strict=True) == version
        except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
            wrong.append(f"{each['kind']} {each['metadata']['name']}: {error!r}")

    assert len(known) > len(WORKLOADS) and wrong == []


def test_production_is_one_image_and_one_secret_whose_name_everybody_knows(production) -> None:
    built = list(yaml.safe_load_all(production))
    images = {each["image"] for each in _found(built, "containers") for each in each}
    assert len(images) == 1 and all(PINNED.search(image) for image in images)
    [secret] = [each["metadata"]["name"] for each in built if each["kind"] == "Secret"]
    # Whoever names it got the name with its hash.
    assert set(re.findall(r"punctual-secrets[\w-]*", production)) == {secret}


def _found(tree: Any, key: str) -> list[Any]:
    if isinstance(tree, dict):
        return [value for name, value in tree.items() if name == key] + _found(list(tree.values()), key)
    if isinstance(tree, list):
        return [found for each in tree for found in _found(each, key)]
    return []
