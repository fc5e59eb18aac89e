"""The Terraform files refer to things that are there, and leave nothing open or unencrypted."""

from __future__ import annotations

import re
import shutil
import subprocess
from ipaddress import ip_network

import hcl2
import pytest
import yaml

from tests.deploying import ROOT, compose, unknown
from tests.missing import not_tried

FOLDER = ROOT / "deploy/terraform"
FILES = sorted(FOLDER.glob("*.tf"))
TEXT = "\n".join(path.read_text() for path in FILES)
CODE = re.sub(r"(?m)^\s*#.*$|\s# .*$", "", TEXT)
OVERLAY = ROOT / "deploy/kubernetes/overlays/production"


def test_every_variable_is_declared_described_and_used() -> None:
    declared = re.findall(r'variable "(\w+)" \{\n  description', CODE)

    assert set(declared) == set(re.findall(r"var\.(\w+)", CODE))
    assert len(declared) == CODE.count('variable "')


def test_every_reference_has_what_it_refers_to() -> None:
    declared = {".".join(pair) for pair in re.findall(r'^resource "(\w+)" "(\w+)"', CODE, re.M)}
    data = {".".join(("data", *pair)) for pair in re.findall(r'^data "(\w+)" "(\w+)"', CODE, re.M)}
    block = re.search(r"locals \{(.*?)\n\}", CODE, re.S)[1]

    referred = set(re.findall(r"(?<![\w.\"/])((?:aws|random)_\w+\.\w+)", CODE))
    assert referred <= declared
    assert set(re.findall(r"(data\.aws_\w+\.\w+)", CODE)) <= data
    assert set(re.findall(r"local\.(\w+)", CODE)) <= set(re.findall(r"(?m)^  (\w+) +=", block))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_is_a_text_of_terraforms_language(path) -> None:
    blocks = hcl2.loads(path.read_text())

    assert blocks.keys() - {"__comments__"}  # an empty file would be one, too


@pytest.mark.parametrize(
    "line",
    [
        "storage_encrypted     = true",
        "at_rest_encryption_enabled = true",
        "transit_encryption_enabled = true",
        "enable_key_rotation     = true",
        "deletion_protection        = var.deletion_protection",
        "skip_final_snapshot        = false",
        "multi_az               = true",
        'http_tokens                 = "required"',
        "block_public_policy     = true",
    ],
)
def test_the_defaults_are_safe(line) -> None:
    assert line in CODE
    assert CODE.count("publicly_accessible") == len(re.findall(r"publicly_accessible +\s*= false", CODE)) == 2


def test_redis_keeps_the_index_when_memory_is_short() -> None:
    assert re.search(r'name  = "maxmemory-policy"\s+value = "noeviction"', CODE)


def default(variable: str) -> str:
    return re.search(rf'variable "{variable}" \{{.*?default     = "([^"]+)"', CODE, re.S)[1]


def test_postgresql_is_of_the_major_version_that_is_tested() -> None:
    tested = re.search(r"postgres:(\d+)", compose()["services"]["postgres"]["image"])[1]

    assert default("database_version") == tested
    assert "engine_version = var.database_version" in CODE and '"postgres${var.database_version}"' in CODE


def test_rabbitmq_4_runs_on_what_it_runs_on_and_makes_queues_as_ours_are() -> None:
    assert default("rabbitmq_version").startswith("4.") and default("rabbitmq_instance_type").startswith("mq.m7g.")
    assert re.search(r'RABBITMQ_QUEUE_TYPE = "classic"', CODE)
    assert 'engine                     = "valkey"' in CODE and 'family = "valkey8"' in CODE


def test_pods_are_lent_a_role_and_no_key_is_made_unless_asked_for() -> None:
    account = yaml.safe_load((OVERLAY / "../../base/service-account.yaml").read_text())["metadata"]["name"]
    namespace = yaml.safe_load((OVERLAY / "kustomization.yaml").read_text())["namespace"]

    assert re.search(rf'namespace       = "{namespace}"\s+service_account = "{account}"', CODE)
    assert '"eks-pod-identity-agent"' in CODE and '"pods.eks.amazonaws.com"' in CODE and '"sts:TagSession"' in CODE
    assert len(re.findall(r"count += var.static_s3_key \? 1 : 0", CODE)) == 3
    assert re.search(r'variable "static_s3_key" \{.*?default     = false', CODE, re.S)


def test_servers_are_where_the_production_overlay_lets_pods_go() -> None:
    vpc = ip_network(re.search(r'variable "vpc_cidr".*?default     = "([\d./]+)"', CODE, re.S)[1])
    bits, number = map(int, re.search(r"data_cidr += cidrsubnet\(var.vpc_cidr, (\d), (\d)\)", CODE).groups())
    policy = yaml.safe_load((OVERLAY / "networks.yaml").read_text())

    allowed = policy["spec"]["egress"][0]["to"][0]["ipBlock"]["cidr"]
    assert str(list(vpc.subnets(prefixlen_diff=bits))[number]) == allowed


def test_what_it_tells_is_what_the_overlay_asks_for() -> None:
    told = set(re.findall(r"(?:^    |\\n|\")([A-Z][A-Z0-9_]+)\s*=", CODE, re.M))
    asked = (OVERLAY / "secrets.env.example").read_text() + (OVERLAY / "kustomization.yaml").read_text()

    assert {"DATABASE_URL", "REDIS_URL", "AMQP_URL", "S3_BUCKET", "S3_SECRET_KEY"} <= told
    assert unknown(told) == set() and all(f"{name}=" in asked for name in told)


def test_its_secrets_are_a_whole_file_for_the_overlay() -> None:
    told = re.search(r"<<-EOT\n(.*?)\n  EOT", CODE, re.S)[1]
    names = re.findall(r"(?:^    |\\n|\")([A-Z_0-9]+)=", told, re.M)
    page = (ROOT / "docs/operations.md").read_text()

    assert "%{" not in told, "Terraform indents the line after a directive"
    # A name that comes twice is refused by kustomize: nothing is appended to a copy of the example.
    assert len(set(names)) == len(names)
    assert set(names) - {"S3_ACCESS_KEY", "S3_SECRET_KEY"} == set(
        re.findall(r"^([A-Z_]+)=", (OVERLAY / "secrets.env.example").read_text(), re.M)
    )
    assert re.search(r"terraform output -raw secrets_env > \S+/secrets\.env", page)
    assert "cp -n secrets.env.example secrets.env" in page


def test_it_is_formatted_as_terraform_formats() -> None:
    if shutil.which("terraform") is None:
        not_tried("terraform is not installed, and nothing else formats like it. HashiCorp has it, Debian has not.")

    done = subprocess.run(["terraform", "fmt", "-check", "-diff", FOLDER], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
