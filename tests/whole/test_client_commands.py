"""Every command of the client's command line against everything under one command."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from punctual import Punctual
from punctual.cli import main
from punctual.cli.commands import COMMANDS

from tests.whole.person import DORA, Person
from tests.whole.processes import free_port
from tests.whole.test_client import MAIL, complaint, over

CLIENT = Path(__file__).parents[2] / "clients" / "python"
HOSTILE = "[/nope] [red]\x1b[2J\x9b2J\u202e no"  # markup that closes nothing, and what terminals obey

# What it speaks to is the same in every mode.
pytestmark = pytest.mark.skipif(
    os.environ.get("PUNCTUAL_TEST_MODE", "embedded") != "embedded", reason="runs in mode embedded only"
)


class Answer(NamedTuple):
    code: int | str | None
    out: str
    err: str

    @property
    def told(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Terminal:
    """Types commands, and notes which."""

    def __init__(self, dora: Person, capsys: pytest.CaptureFixture[str]) -> None:
        self.environment = {"PUNCTUAL_URL": dora.address, "PUNCTUAL_TOKEN": dora.token}
        self.typed: set[tuple[str, str | None]] = set()
        self._capsys = capsys

    def __call__(self, *words: str) -> Answer:
        thing, *rest = [word for word in words if word != "--json"]
        self.typed.add((thing, rest[0] if (thing, None) not in COMMANDS else None))
        self._capsys.readouterr()
        try:
            code: Any = main(words, self.environment)
        except SystemExit as misused:
            code = misused.code
        return Answer(code, *self._capsys.readouterr())


@pytest.fixture
def terminal(dora: Person, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(dora, capsys)


def jobs(terminal: Terminal, punctual: Punctual) -> None:
    mail = json.dumps(MAIL)
    done = terminal("jobs", "create", "send_email", mail, "--name", "By hand", "--priority", "high", "--wait")
    hourly = terminal("--json", "jobs", "create", "send_email", mail, "--every", "1h", "--tag", "a", "--tag", "b")
    weekly = ("jobs", "create", "send_email", mail, "--cron", "30 10 * * 5", "--timezone", "Asia/Jakarta")
    once = ("jobs", "create", "send_email", mail, "--at", "2100-01-01T10:00:00Z", "--idempotency-key", "once")
    [job] = hourly.told

    assert done.code == 0 and '"status": "COMPLETED"' in done.out
    assert terminal("--json", *weekly).told[0]["schedule"]["timezone"] == "Asia/Jakarta"
    assert terminal("--json", *once).told[0]["id"] == terminal("--json", *once).told[0]["id"]
    assert [one["id"] for one in terminal("--json", "jobs", "list", "--tag", "a", "--tag", "b").told] == [job["id"]]
    assert [one["name"] for one in terminal("--json", "jobs", "list", "--search", "hand").told] == ["By hand"]
    assert [one["name"] for one in terminal("--json", "jobs", "list", "--name", "by").told] == ["By hand"]
    assert (
        len(terminal("--json", "jobs", "list", "--status", "ACTIVE", "--task", "send_email", "--most", "2").told) == 2
    )
    assert terminal("jobs", "list").out.startswith("ID ")
    assert json.loads(terminal("jobs", "show", job["id"]).out)["tags"] == ["a", "b"]
    assert terminal("--json", "jobs", "pause", job["id"]).told[0]["status"] == "PAUSED"
    assert terminal("--json", "jobs", "resume", job["id"]).told[0]["status"] == "ACTIVE"
    assert terminal("--json", "jobs", "preview", job["id"]).told[0]["runs"]
    assert terminal("--json", "jobs", "run", job["id"], "--wait").told[0]["status"] == "COMPLETED"
    assert terminal("--json", "jobs", "run", job["id"]).told[0]["job"] == job["id"]
    assert terminal("--json", "jobs", "cancel", job["id"]).told[0]["status"] == "CANCELLED"
    assert terminal("jobs", "delete", job["id"]) == (0, "", "Deleted. Its history stays.\n")
    gone = terminal("jobs", "show", job["id"])
    assert gone.code == 1 and gone.err.startswith("punctual: ") and not gone.out
    misspelt = terminal("jobs", "create", "send_emial")
    assert misspelt.code == 1 and "send_email" in misspelt.err
    incomplete = terminal("jobs", "create", "send_email", "{}")
    assert incomplete.code == 1 and incomplete.err.count("payload.to:") == 1
    failed = terminal("jobs", "create", "complain", '{"text": "no"}', "--wait")
    assert failed.code == 1 and '"status": "FAILED"' in failed.out


def executions(terminal: Terminal, punctual: Punctual) -> None:
    failed = complaint(punctual, HOSTILE)
    job = terminal("--json", "jobs", "create", "tidy", '{"file": "/dev/null"}', "--every", "1h").told[0]["id"]
    waiting = punctual.jobs.run(job)

    found = ("executions", "list", "--status", "FAILED", "--task", "complain", "--job", failed.job)
    assert [one["id"] for one in terminal("--json", *found).told] == [failed.id]
    assert terminal("--json", "executions", "list", "--tag", "none").told == []
    assert terminal("--json", "executions", "logs", failed.id).told[0]["text"] == HOSTILE
    shown = [terminal(*words).out for words in (found, ("executions", "logs", failed.id))]
    shown += [terminal("executions", "show", failed.id).out, terminal("--json", "executions", "show", failed.id).out]
    assert [text for text in shown if not text.replace("\n", "").isprintable()] == []
    assert [text for text in shown if "[/nope]" not in text] == []
    assert terminal("--json", "executions", "retry", failed.id).told[0]["id"] == failed.id
    assert terminal("executions", "cancel", waiting.id).code == 0
    assert waiting.wait().status == "CANCELLED"
    late = terminal("executions", "cancel", waiting.id)
    assert late.code == 1 and late.err.startswith("punctual: ")


def dead_letters(terminal: Terminal, punctual: Punctual) -> None:
    shelf, card = complaint(punctual, "no such shelf"), complaint(punctual, "card declined")
    causes = {one["error"]: one["fingerprint"] for one in terminal("--json", "dead-letters", "list").told}

    assert terminal("dead-letters", "list").out.startswith("FINGERPRINT ")
    assert terminal("--json", "dead-letters", "replay", shelf.id).told == [{"count": 1, "more": False}]
    assert punctual.executions.get(shelf.id).wait().status == "FAILED"
    assert terminal("--json", "dead-letters", "discard", shelf.id).told == [{"count": 1, "more": False}]
    assert terminal("--json", "dead-letters", "discard", "--fingerprint", causes[card.error]).told[0]["count"] == 1
    for words in ((), (shelf.id, "--fingerprint", causes[card.error])):
        unclear = terminal("dead-letters", "discard", *words)
        assert unclear.code == 2 and "give execution ids" in unclear.err


def tasks(terminal: Terminal, punctual: Punctual) -> None:
    assert "send_email " in terminal("tasks", "list").out


def alerts(terminal: Terminal, punctual: Punctual) -> None:
    made = terminal("--json", "alerts", "create", "On call", "--email", "a@example.com", "--kind", "missed")
    hook = terminal("--json", "alerts", "create", "Hook", "--webhook", "https://example.com/hook", "--tag", "billing")
    [alert] = made.told

    assert (alert["emails"], alert["kinds"]) == (["a@example.com"], ["missed"])
    assert hook.told[0]["tag"] == "billing"
    assert terminal("--json", "alerts", "show", alert["id"]).told[0]["name"] == "On call"
    assert terminal("--json", "alerts", "test", alert["id"]).told[0]["attempts"] == 0
    assert "On call" in terminal("alerts", "list").out
    assert terminal("alerts", "delete", alert["id"]).code == 0
    nowhere = terminal("alerts", "create", "On call")
    assert nowhere.code == 2 and "say where notices go" in nowhere.err


def incidents(terminal: Terminal, punctual: Punctual) -> None:
    job = terminal("--json", "jobs", "create", "send_email", json.dumps(MAIL), "--every", "1h").told[0]["id"]
    over(job)

    assert terminal("incidents", "list", "--open").out.startswith("KIND ")
    [incident] = terminal("--json", "incidents", "list", "--kind", "failed", "--job", job).told
    assert incident["error"] == "E: no"
    assert terminal("--json", "incidents", "list", "--open", "--most", "1").told == []


def tail(terminal: Terminal, punctual: Punctual) -> None:
    failed = complaint(punctual, HOSTILE)

    assert [one["id"] for one in terminal("--json", "tail", "--rounds", "1", "--job", failed.job).told] == [failed.id]
    assert terminal("tail", "--rounds", "1").out.startswith("ID ")


SHOWN: dict[str, Callable[[Terminal, Punctual], None]] = {
    "jobs": jobs,
    "executions": executions,
    "dead-letters": dead_letters,
    "tasks": tasks,
    "alerts": alerts,
    "incidents": incidents,
    "tail": tail,
}


@pytest.mark.parametrize("thing", sorted({thing for thing, _ in COMMANDS}))
def test_every_command_does_what_it_says(thing: str, terminal: Terminal, punctual: Punctual) -> None:
    SHOWN[thing](terminal, punctual)

    assert {typed for typed in terminal.typed if typed[0] == thing} == {one for one in COMMANDS if one[0] == thing}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["jobs", "create", "send_email", "{not json"], "not JSON"),
        (["jobs", "create", "send_email", "[1]"], "not a JSON object"),
        (["jobs", "create", "send_email", "null"], "not a JSON object"),
        (["jobs", "create", "send_email", '{"n": NaN}'], "NaN is not a JSON number"),
        (["jobs", "create", "send_email", "[" * 100_000], "too deeply nested"),
        (["jobs", "create", "send_email", "--every", "1.5h"], "is not a whole number"),
        (["jobs", "create", "send_email", "--every", "9" * 5_000 + "d"], "is not a whole number"),
        (["jobs", "create", "send_email", "--every", "²h"], "is not a whole number"),
        (["jobs", "create", "send_email", "--at", "2026-11-20T03:30:00"], "no time zone"),
        (["jobs", "create", "send_email", "--every", "1h", "--timezone", "Asia/Jakarta"], "--timezone is for --cron"),
        (["jobs", "create", "send_email", "--every", "1h", "--cron", "* * * * *"], "not allowed with"),
        (["jobs", "list", "--most", "0"], "is not a whole number"),
        (["jobs", "list", "--most", "-1"], "is not a whole number"),
        (["jobs", "show", ".."], "is not an id"),
        (["jobs", "delete", ""], "is not an id"),
        (["tail", "--rounds", "0"], "is not a whole number"),
        (["--url", "localhost:8000", "tasks", "list"], "is not an address"),
        (["--url", "http://[::1", "tasks", "list"], "is not an address"),
        (["--tenant", "a\nb", "tasks", "list"], "tenant: only printable ASCII"),
        (["jobs"], "required"),
        (["job", "list"], "invalid choice"),
    ],
)
def test_wrong_words_are_told_with_status_2(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"PUNCTUAL_URL": f"http://127.0.0.1:{free_port()}", "PUNCTUAL_KEY": "k"}  # which nobody asks

    try:
        code: Any = main(words, environment)
    except SystemExit as misused:
        code = misused.code

    assert code == 2
    assert told in capsys.readouterr().err


def test_an_empty_cron_expression_is_not_taken_for_no_schedule(terminal: Terminal, punctual: Punctual) -> None:
    refused = terminal("jobs", "create", "send_email", json.dumps(MAIL), "--cron", "")

    assert refused.code == 1 and "schedule.expression" in refused.err
    assert list(punctual.jobs.list()) == []


def test_a_payload_is_read_from_standard_input(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(MAIL)))

    assert terminal("--json", "jobs", "create", "send_email", "-").told[0]["payload"]["to"] == MAIL["to"]


def test_a_server_that_is_away_is_told_with_status_1() -> None:
    away = typed(f"http://127.0.0.1:{free_port()}", "jobs", "run", "0")

    assert away.returncode == 1 and "Is it running?" in away.stderr and "Traceback" not in away.stderr


def test_a_reader_who_has_seen_enough_is_no_error(running: str, punctual: Punctual) -> None:
    for _ in range(30):
        punctual.jobs.create(
            "send_email", MAIL | {"body": "x" * 10_000}, schedule={"type": "interval", "seconds": 3600}
        )
    read, write = os.pipe()
    os.close(read)

    ended = typed(running, "--json", "jobs", "list", "--most", "30", stdout=write)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_live_table_shows_errors_as_they_are(running: str, punctual: Punctual) -> None:
    complaint(punctual, HOSTILE)

    code, screen = in_a_terminal(running, "tail", "--rounds", "1")

    assert code == 0 and "Traceback" not in screen, screen
    assert "[/nope]" in screen.replace("\r\n", "") and "\x1b[2J" not in screen and "\x9b" not in screen


def typed(address: str, *words: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "punctual", *words]
    return subprocess.run(command, env=env_of(address), stdout=stdout, stderr=subprocess.PIPE, text=True)


def env_of(address: str) -> dict[str, str]:
    who = {"PUNCTUAL_USER": DORA["username"], "PUNCTUAL_PASSWORD": DORA["password"]}
    return os.environ | who | {"PYTHONPATH": str(CLIENT), "PUNCTUAL_URL": address}


def in_a_terminal(address: str, *words: str) -> tuple[int, str]:
    """The exit status, and all that the terminal was told."""
    ours, theirs = pty.openpty()
    env = env_of(address) | {"TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
    process = subprocess.Popen([sys.executable, "-m", "punctual", *words], env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    told = b""
    try:
        while chunk := os.read(ours, 65536):
            told += chunk
    except OSError:
        pass  # that is how Linux says that nobody holds the other end any more
    os.close(ours)
    return process.wait(), re.sub(r"\x1b\[[0-9;]*m", "", told.decode())
