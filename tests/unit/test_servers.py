"""The servers of a test run: which one is used, what is said when there is none, and that private
ones are gone when the run is, however it ended."""

import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
import redis

from tests.servers import (
    Kind,
    debian,
    docker,
    found,
    installed,
    modes,
    probe,
    provide,
    report,
    sources,
    started,
)
from tests.servers import __main__ as runner
from tests.servers.modes import Mode
from tests.servers.order import Missing, Obtained, Unavailable, first_given
from tests.servers.private import DidNotStart, PrivatePostgres, PrivateRedis
from tests.servers.private.ports import is_open

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 15  # seconds until something that must happen has not happened

STARTS_A_REDIS = """
import time
from tests.servers.private import PrivateRedis
server = PrivateRedis().start()
print(server.port, server.folder, flush=True)
time.sleep(60)
"""

WAITS_FOR_A_CHILD = """
import os, sys
from tests.servers import __main__ as runner
child = "import time; print('the child runs', flush=True); time.sleep(60)"
runner._run([sys.executable, "-c", child], dict(os.environ))
"""

URLS = {"DATABASE_URL": "postgres://d", "REDIS_URL": "redis://r", "AMQP_URL": "amqp://a"}
NO_REDIS = {Kind.REDIS: Missing("redis-server is not installed", "install it")}


def needs(kind):
    return pytest.mark.skipif(
        not installed.is_installed(kind),
        reason=f"No {kind.title} binaries here: install the package to run this.",
    )


def giving(url):
    return lambda kind: Obtained(url, f"from {url}")


def refusing(reason, remedy="", *, surprising=False):
    def source(kind):
        raise Unavailable(reason, remedy, surprising=surprising)

    return source


def eventually(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def run(monkeypatch):
    """Call the runner with servers that need not exist, noting what it would have run."""

    def call(*arguments):
        return runner.main(arguments)

    call.commands, call.seen = [], []

    def note(command, environment):
        call.commands.append(command)
        call.seen.append(environment["PUNCTUAL_TEST_MODE"])
        return 0

    monkeypatch.setattr(runner, "_run", note)
    monkeypatch.setattr(
        "tests.servers.sources",
        lambda environ, *, private: [lambda kind: Obtained(f"{kind.key}://x", "faked")],
    )
    return call


class TestTheOrderOfPreference:
    def test_what_is_there_comes_before_what_must_be_started(self):
        names = [source.__qualname__.split(".")[0] for source in sources({})]

        assert names == [
            "named_by",
            "on_the_standard_port",
            "in_a_container",
            "from_installed_binaries",
            "from_debian_packages",
            "from_wheels",
        ]

    def test_private_passes_over_what_is_there(self):
        assert sources({}, private=True)[0] is docker.in_a_container
        assert found.on_the_standard_port not in sources({}, private=True)

    def test_the_first_source_that_gives_a_server_wins(self):
        never_asked = refusing("asked though not needed", surprising=True)

        outcome = first_given(Kind.REDIS, [refusing("none here"), giving("redis://second"), never_asked])

        assert outcome == Obtained("redis://second", "from redis://second", outcome.release)

    def test_a_surprising_refusal_is_told_though_a_later_source_gives_the_server(self):
        named = refusing("REDIS_URL is set, but it does not answer", surprising=True)

        outcome = first_given(Kind.REDIS, [named, giving("redis://second")])

        assert outcome.how == "from redis://second; REDIS_URL is set, but it does not answer"

    def test_when_no_source_gives_it_every_reason_is_kept_and_each_remedy_told_once(self):
        outcome = first_given(Kind.REDIS, [refusing("a", "do this"), refusing("b"), refusing("c", "do this")])

        assert outcome == Missing("a; b; c", "do this")

    def test_a_sqlite_database_url_names_no_postgresql(self):
        with pytest.raises(Unavailable, match="names no PostgreSQL"):
            found.named_by({"DATABASE_URL": "sqlite:///var/db.sqlite3"})(Kind.POSTGRESQL)

    @pytest.mark.parametrize(
        ("kind", "url"),
        [
            (Kind.POSTGRESQL, "postgres://me:hush@127.0.0.1:1/mine"),
            (Kind.REDIS, "redis://:hush@127.0.0.1:1/0"),
            (Kind.RABBITMQ, "amqp://me:hush@127.0.0.1:1/"),
        ],
    )
    def test_a_named_server_that_does_not_answer_is_refused_without_showing_its_password(self, kind, url):
        with pytest.raises(Unavailable) as refusal:
            found.named_by({kind.variable: url})(kind)

        assert refusal.value.reason.startswith(f"{kind.variable} is set, but 127.0.0.1:1 does not answer")
        assert "hush" not in refusal.value.reason

    def test_rabbitmq_does_not_come_as_a_wheel(self):
        with pytest.raises(Unavailable, match="does not come as a wheel"):
            started.from_wheels(Kind.RABBITMQ)

    def test_only_needed_servers_are_looked_for(self):
        with provide([Kind.REDIS], absent=list(Kind)) as servers:
            assert list(servers.missing) == [Kind.REDIS]
            assert servers.environment == {}


class TestTheModes:
    def test_each_mode_sees_exactly_its_own_servers(self):
        base = {"PATH": "/bin", "REDIS_URL": "redis://of-the-machine", "PYTHONDONTWRITEBYTECODE": "1"}

        assert modes.environment(Mode.EMBEDDED, URLS, base) == {
            "PATH": "/bin",
            "PUNCTUAL_TEST_MODE": "embedded",
        }
        assert modes.environment(Mode.DATABASE, URLS, base) == {
            "PATH": "/bin",
            "DATABASE_URL": "postgres://d",
            "PUNCTUAL_TEST_MODE": "database",
        }
        assert modes.environment(Mode.FULL, URLS, base) == {
            "PATH": "/bin",
            **URLS,
            "PUNCTUAL_TEST_MODE": "full",
        }

    def test_unit_tests_run_with_the_first_mode_only(self):
        assert "--ignore=tests/unit" not in modes.command([], first=True)
        assert "--ignore=tests/unit" in modes.command([], first=False)

    def test_what_follows_two_dashes_is_pytests(self, run):
        run("--modes", "embedded", "--", "-k", "retry", "--", "x")

        assert run.commands[0][-4:] == ["-k", "retry", "--", "x"]

    def test_an_unknown_part_is_refused_with_those_that_exist(self, capsys):
        with pytest.raises(SystemExit):
            runner.main(["--part", "slow"])

        assert "No part named 'slow'. Known: quick, long, all." in capsys.readouterr().err

    def test_an_unknown_mode_is_refused_with_those_that_exist(self, capsys):
        with pytest.raises(SystemExit):
            runner.main(["--modes", "cluster"])

        assert "No mode named 'cluster'. Known: embedded, database, full." in capsys.readouterr().err


class TestWhatIsSaidAtTheEnd:
    def test_a_missing_server_is_told_last_and_loudly_with_what_was_skipped_and_the_remedy(self):
        outcomes = [report.Outcome(Mode.DATABASE, 0, 12.3), report.Outcome(Mode.FULL, None)]
        *modes_lines, loud = report.lines(outcomes, NO_REDIS)

        assert modes_lines == ["database  passed in 12 s", "full      SKIPPED, a server is missing"]
        assert loud == (
            "!!! REDIS IS MISSING, so all tests of mode 'full' were SKIPPED. "
            "Why: redis-server is not installed. To get it: install it."
        )

    def test_a_missing_server_fails_the_run_on_a_build_machine_only(self):
        outcomes = [report.Outcome(Mode.EMBEDDED, 0), report.Outcome(Mode.FULL, None)]

        assert report.exit_code(outcomes, NO_REDIS, {}) == 0
        assert report.exit_code(outcomes, NO_REDIS, {"CI": "true"}) == 1

    @pytest.mark.parametrize("code", [1, 2, report.NO_TESTS, -9])
    def test_a_mode_that_failed_or_found_no_tests_fails_the_run(self, code):
        outcomes = [report.Outcome(Mode.EMBEDDED, code), report.Outcome(Mode.DATABASE, 0)]

        assert report.exit_code(outcomes, {}, {}) == 1

    def test_the_modes_that_can_run_still_run(self, run, monkeypatch, capsys):
        monkeypatch.setenv("CI", "true")

        code = run("--absent", "redis,rabbitmq")

        last = capsys.readouterr().out.splitlines()[-2:]
        assert run.seen == ["embedded", "database"]
        assert last[0].startswith("!!! REDIS IS MISSING")
        assert last[1].startswith("!!! RABBITMQ IS MISSING")
        assert code == 1


class TestBeingEnded:
    def test_a_run_told_to_end_while_it_waits_for_pytest_ends_pytest_and_itself(self):
        with subprocess.Popen(
            [sys.executable, "-c", WAITS_FOR_A_CHILD],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as owner:
            assert owner.stdout.readline() == "the child runs\n"

            owner.terminate()

            assert owner.wait(PATIENCE) != 0
            assert owner.stdout.read() == ""  # closed by everyone who had it: the child is gone too


class TestInstallingWithoutStarting:
    def test_services_are_forbidden_to_start_while_packages_are_installed(self, tmp_path):
        policy = tmp_path / "policy-rc.d"

        with debian.services_not_started(policy):
            code = subprocess.run([policy], check=False).returncode

        assert code == 101
        assert not policy.exists()

    def test_one_process_installs_at_a_time(self, tmp_path):
        lock = tmp_path / "lock"

        with debian.one_at_a_time(lock):
            meanwhile = subprocess.run(["flock", "--nonblock", lock, "true"]).returncode
        afterwards = subprocess.run(["flock", "--nonblock", lock, "true"]).returncode

        assert (meanwhile, afterwards) == (1, 0)

    def test_a_policy_that_is_there_already_is_left_as_it_is(self, tmp_path):
        policy = tmp_path / "policy-rc.d"
        policy.write_text("the owner's")

        with debian.services_not_started(policy):
            pass

        assert policy.read_text() == "the owner's"


@needs(Kind.REDIS)
class TestAPrivateRedis:
    def test_answers_while_it_runs_and_leaves_nothing_behind(self):
        with PrivateRedis() as server:
            folder = server.folder
            assert redis.Redis.from_url(server.url).ping()

        assert not is_open(server.port)
        assert not folder.exists()

    def test_comes_back_on_the_same_port_and_data_after_being_killed(self):
        with PrivateRedis(durable=True) as server:
            redis.Redis.from_url(server.url).set("kept", "yes")
            server.restart()

            server.kill()
            assert not is_open(server.port)
            server.start()

            assert redis.Redis.from_url(server.url).get("kept") == b"yes"

    def test_survives_the_thread_that_restarted_it(self):
        with PrivateRedis() as server:
            thread = threading.Thread(target=server.restart)
            thread.start()
            thread.join()

            assert redis.Redis.from_url(server.url).ping()

    def test_lets_nobody_in_without_its_password(self):
        with (
            PrivateRedis() as server,
            pytest.raises(Unavailable, match="does not answer"),
        ):
            probe.answers(Kind.REDIS, f"redis://127.0.0.1:{server.port}/0")

    def test_that_cannot_start_says_why(self):
        with PrivateRedis() as first, pytest.raises(DidNotStart, match="in use"):
            PrivateRedis(port=first.port).__enter__()

    @pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
    @pytest.mark.skipif(sys.platform != "linux", reason="Only Linux ends the children of a killed process.")
    def test_is_gone_after_the_run_that_started_it_was_ended(self, ending):
        with subprocess.Popen(
            [sys.executable, "-c", STARTS_A_REDIS],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as owner:
            port, folder = owner.stdout.readline().split()
            assert is_open(int(port))

            owner.send_signal(ending)
            owner.wait(PATIENCE)

        assert eventually(lambda: not is_open(int(port)))
        if ending == signal.SIGKILL:
            shutil.rmtree(folder)  # nobody was left to do it
        assert not Path(folder).exists()


@needs(Kind.POSTGRESQL)
class TestAPrivatePostgreSQL:
    def test_comes_back_on_the_same_port_and_data_after_being_killed(self):
        with PrivatePostgres() as server:
            with psycopg.connect(server.url) as connection:
                connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
            # A client that stays connected: its backend outlives the killed server for a moment.
            with psycopg.connect(server.url):
                server.kill()
                server.start()

            with psycopg.connect(server.url) as connection:
                assert connection.execute("SELECT one FROM kept").fetchone() == (1,)
                assert connection.execute("SHOW max_connections").fetchone() == ("200",)
                assert connection.execute("SHOW fsync").fetchone() == ("off",)

        assert not is_open(server.port)
