"""What runs under one command is not taken for well while a part of it is gone."""

from __future__ import annotations

import subprocess
from threading import Event, Thread

import pytest
from django.core.management import CommandError, call_command

from scheduler_project.everything import Everything
from scheduler_project.management.commands import run_all
from scheduler_project.web import WebServer


class Web:
    running = True


@pytest.mark.timeout(30)
def test_a_loop_that_ends_by_itself_ends_the_whole() -> None:
    everything = Everything(Web(), Event())
    loop = Thread(target=lambda: None)  # as when what writes its log fails
    everything._threads.append(loop)
    loop.start()

    assert everything.wait() is False


def test_a_whole_that_ended_by_itself_is_an_error_for_whoever_started_it(monkeypatch) -> None:
    monkeypatch.setattr(run_all, "stop_on_signals", Event)
    monkeypatch.setattr(run_all.demo, "danger", lambda host: "")
    monkeypatch.setattr(Everything, "start", lambda everything: True)
    monkeypatch.setattr(Everything, "wait", lambda everything: False)
    monkeypatch.setattr(Everything, "end", lambda everything: everything.stop.set())

    with pytest.raises(CommandError, match="ended unexpectedly"):
        call_command("run_all")


@pytest.mark.timeout(30)
def test_a_web_server_that_was_killed_leaves_no_worker_behind() -> None:
    web = WebServer("127.0.0.1", 0, threads=1)
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    web._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    web._process.stdout.readline()
    web._process.kill()

    web.stop()

    assert web._process.stdout.read() == ""  # which ends with the last process that can write to it
