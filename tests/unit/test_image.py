"""The image has what it needs, runs as nobody special, and knows whether it is well."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import stat
import subprocess
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from django.conf import settings
from django.core.management import get_commands

from scheduler_project import serve
from scheduler_project.pulse import Pulse
from tests.deploying import PINNED, PRODUCTION_NEEDS, ROOT, complaints, compose, unknown

DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
LET_IN = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]


def instructions(name: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in DOCKERFILE.splitlines() if line.startswith(f"{name} ")]


def environment() -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", instructions("ENV")[-1]))


def test_what_is_copied_is_there() -> None:
    copied = [line.split()[0] for line in instructions("COPY") if not line.startswith("--from=")]

    assert copied == ["requirements.txt", "."]
    assert [name for name in LET_IN if not (ROOT / name).exists()] == []


def test_every_app_of_ours_is_let_in_and_no_secret_or_test_is() -> None:
    ours = {name.partition(".")[0] for name in settings.INSTALLED_APPS if (ROOT / name.partition(".")[0]).is_dir()}

    assert ours <= set(LET_IN)
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"
    assert not {"tests", ".env", ".git", "var", "deploy"} & set(LET_IN)


def test_hadolint_finds_nothing_wrong() -> None:
    assert complaints("hadolint", ROOT / "Dockerfile") == ""


def test_every_role_is_told_of_at_its_top() -> None:
    told = set(re.findall(r"(?m)^#   \w+ +python manage\.py (\w+)", DOCKERFILE))

    assert told == {name for name in get_commands() if name.startswith("run_") and name != "run_all"} | {"migrate"}


def test_it_does_not_run_as_root_and_says_so_by_number() -> None:
    assert instructions("USER")[-1] == "10001:10001"  # Kubernetes cannot tell from a name that it is not root


def test_what_it_is_built_on_is_named_exactly() -> None:
    [base] = [line.partition("=")[2] for line in instructions("ARG") if line.startswith("PYTHON_IMAGE=")]

    assert PINNED.search(base)
    assert {line.split()[0] for line in instructions("FROM")} == {"${PYTHON_IMAGE}"}


def test_each_of_its_variables_is_read_by_somebody() -> None:
    assert unknown(environment()) == set()


def test_the_web_server_takes_the_arguments_it_is_given() -> None:
    python, option, module, *arguments = json.loads(instructions("CMD")[-1])

    assert (python, option, module) == ("python", "-m", "scheduler_project.serve")
    options = serve.parser().parse_args(arguments)
    assert options.detached and [str(options.port)] == instructions("EXPOSE")


def test_what_is_collected_when_it_is_built_is_what_is_served() -> None:
    [build] = [line for line in instructions("RUN") if "collectstatic" in line]

    assert f"STATIC_ROOT={environment()['STATIC_ROOT']}" in build
    assert not environment()["STATIC_ROOT"].startswith(environment()["PUNCTUAL_VAR"])  # a volume would hide it


@pytest.fixture
def healthy():
    spec = importlib.util.spec_from_file_location("healthy", ROOT / "deploy/healthy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_loop_is_well_while_it_turns(healthy, tmp_path, monkeypatch) -> None:
    pulse = tmp_path / "pulse"
    monkeypatch.setenv("PULSE_FILE", str(pulse))

    assert "FileNotFoundError" in healthy.main("loop")
    pulse.touch()
    assert healthy.main("loop") == ""
    os.utime(pulse, (time.time() - 300,) * 2)
    assert healthy.main("loop").startswith("The loop has not turned for 300 seconds")


def test_a_process_is_ready_while_its_rounds_succeed(healthy, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PULSE_FILE", str(tmp_path / "pulse"))
    (tmp_path / "pulse.ready").touch()  # of a process before
    pulse = Pulse(str(tmp_path / "pulse"))
    pulse.beat()

    assert healthy.main("loop") == "" and healthy.main("ready") == "No round has succeeded yet."
    pulse.succeeded()
    assert healthy.main("ready") == ""
    os.utime(tmp_path / "pulse.ready", (time.time() - 300,) * 2)
    assert healthy.main("ready").startswith("No round has succeeded for 300 seconds")


@pytest.mark.parametrize("status", [200, 503])
def test_the_web_is_well_when_it_says_so(healthy, status) -> None:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.handle_request)
        thread.start()

        complaint = healthy.main("web", str(server.server_port))

        thread.join()
    assert complaint == ("" if status == 200 else "HTTPError: HTTP Error 503: Service Unavailable")


def make_env(path) -> str:
    return subprocess.run([ROOT / "deploy/make-env.sh", path], check=True, capture_output=True, text=True).stdout


def test_keys_and_passwords_are_made_once_and_stay(tmp_path) -> None:
    path = tmp_path / ".env"
    path.write_text("PORT=9000\nREDIS_PASSWORD=mine")  # without an end of the line

    said = make_env(path)
    made = path.read_text()

    assert "REDIS_PASSWORD" not in said and "SECRET_KEY" in said
    assert "nothing added" in make_env(path) and path.read_text() == made
    values = dict(line.split("=", 1) for line in made.splitlines())
    assert (values["PORT"], values["REDIS_PASSWORD"]) == ("9000", "mine")
    assert all(
        len(value) >= 32 and value.isalnum() for name, value in values.items() if name[:4] not in ("PORT", "REDI")
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_all_that_compose_demands_is_made(tmp_path) -> None:
    make_env(tmp_path / ".env")

    made = {line.partition("=")[0] for line in (tmp_path / ".env").read_text().splitlines()}

    demanded = set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text()))
    assert made == demanded | (PRODUCTION_NEEDS - {"ALLOWED_HOSTS"})  # the keys reach the processes by `env_file`
    assert compose()["name"] == "punctual"
