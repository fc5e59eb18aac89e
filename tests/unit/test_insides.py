"""Nobody gets us to talk to the inside of a network: not by odd spellings, not by names, not by changing them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from execution.handlers.http_request import http_request
from execution.outbound import Deadline, NoAnswer, Refused, Request, exchange, guard_of, read_url
from execution.outbound.ranges import closed_kind
from execution.registry import InvalidPayload, Run, registry
from execution.retry import GiveUpNow
from scheduler_project.checks import hosts_that_can_be_read
from tests.insides import PLAIN_4, PLAIN_6, urls
from tests.misbehaving import MisbehavingServer

PORTS = ("80", "443", "1024-65535")
NAME = "rebinding.example.com"


@pytest.fixture
def canary() -> Iterator[MisbehavingServer]:
    """Listens where nothing may arrive: on every address that this machine has inside."""
    server = MisbehavingServer(host="::" if socket.has_dualstack_ipv6() else "0.0.0.0")
    yield server
    server.stop()


def attempt(url: str) -> None:
    """All the way that a payload goes, up to the connection if nobody stops it."""
    payload = registry.get("http_request").read({"url": url, "timeout": 5})
    http_request(payload, Run(uuid4(), 1, uuid4()))


def ask(url: str, resolve: Callable[[str, int], list[str]], allowed: tuple[str, ...] = ()) -> Any:
    request = Request("GET", read_url(url), {}, b"")
    return exchange(request, guard_of(allowed, PORTS), Deadline(60), keep=1000, resolve=resolve)


def test_no_spelling_of_an_inside_host_is_reached(canary) -> None:
    spellings = urls(canary.port)

    reached = []
    for url in spellings:
        try:
            attempt(url)
            reached.append(url)
        except NoAnswer:
            reached.append(url)
        except (InvalidPayload, GiveUpNow):
            pass

    assert reached == []
    assert canary.connections == 0
    assert len(set(spellings)) >= 350


def test_the_canary_would_have_noticed(canary, settings) -> None:
    settings.HTTP_ALLOWED_HOSTS = ("127.0.0.0/8", "localhost")

    attempt(canary.url("/fine"))
    attempt(canary.url("/fine", host="127.8.9.10"))
    attempt(canary.url("/fine", host="localhost"))

    assert canary.connections == 3


@pytest.mark.parametrize("address", PLAIN_4 + PLAIN_6)
def test_a_name_that_leads_inside_is_refused(canary, address) -> None:
    with pytest.raises(NoAnswer) as raised:
        ask(f"http://{NAME}:{canary.port}/", lambda host, port: [address])

    assert canary.connections == 0
    assert address not in str(raised.value)  # what names inside stand for is nobody's business


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2a00::5efe:808:808",
    ],
)
def test_what_is_in_the_open_is_not_refused(address) -> None:
    assert closed_kind(ip_address(address)) is None


class TestRebinding:
    """`127.0.0.2` stands for the open here, and is allowed; the canary is on `127.0.0.1` and the same port."""

    @pytest.fixture
    def outside(self) -> Iterator[MisbehavingServer]:
        server = MisbehavingServer(host="127.0.0.2")
        yield server
        server.stop()

    @pytest.fixture
    def inside(self, outside) -> Iterator[socket.socket]:
        listener = socket.create_server(("127.0.0.1", outside.port))
        listener.setblocking(False)
        yield listener
        listener.close()

    def untouched(self, inside: socket.socket) -> bool:
        with pytest.raises(BlockingIOError):
            inside.accept()
        return True

    def test_a_name_is_looked_up_once_and_connected_to_as_it_was_checked(
        self, outside, inside, monkeypatch, settings
    ) -> None:
        settings.HTTP_ALLOWED_HOSTS = (f"127.0.0.2:{outside.port}",)
        answers = iter(["127.0.0.2", *["127.0.0.1"] * 100])

        def rebinding(host, port, *rest, **more):
            assert host == NAME
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

        monkeypatch.setattr(socket, "getaddrinfo", rebinding)

        attempt(f"http://{NAME}:{outside.port}/fine")

        assert outside.heard[-1].headers["host"] == f"{NAME}:{outside.port}"
        assert self.untouched(inside)
        with pytest.raises(NoAnswer, match="does not resolve to an allowed address"):
            attempt(f"http://{NAME}:{outside.port}/fine")
        assert self.untouched(inside)

    def test_one_address_inside_spoils_all(self, outside, inside) -> None:
        allowed = (f"127.0.0.2:{outside.port}",)

        for answer in (["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "::1"]):
            with pytest.raises(NoAnswer):
                ask(f"http://{NAME}:{outside.port}/fine", lambda host, port, answer=answer: answer, allowed)

        assert outside.connections == 0 and self.untouched(inside)

    def test_the_next_address_is_tried_where_one_takes_no_connection(self, outside) -> None:
        allowed = ("127.0.0.0/8",)

        answer = ask(f"http://{NAME}:{outside.port}/fine", lambda host, port: ["127.0.0.3", "127.0.0.2"], allowed)

        assert answer.status == 200


def test_a_name_without_an_address_is_retried() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for resolve in (unknown, lambda host, port: []):
        with pytest.raises(NoAnswer, match="does not resolve"):
            ask("http://nowhere.example.com/", resolve)


def test_nobody_learns_whether_a_name_inside_exists() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    inside = ["10.0.0.7"], ["127.0.0.1"], ["169.254.169.254"], ["fd00::1"], ["93.184.216.34", "10.0.0.7"]
    answers = [*inside, ["nonsense"], []]
    told = set()
    with capture_logs() as logged:
        for resolve in (unknown, *(lambda host, port, answer=answer: answer for answer in answers)):
            with pytest.raises(NoAnswer) as error:
                ask("http://db.corp.example.com/", resolve)
            told.add((type(error.value), str(error.value)))

    assert len(told) == 1
    reasons = [line["reason"] for line in logged if line["event"] == "outbound.no_usable_address"]
    assert len(reasons) == len(answers) + 1 and any("private" in reason for reason in reasons)  # operators do


@pytest.mark.parametrize(
    "address",
    [
        *("168.63.129.16", "161.26.0.7", "166.9.0.1", "100.100.100.200", "192.0.0.192", "169.254.169.254"),
        *("[fd00:ec2::254]", "[fd20:ce::254]", "[fd00:42::42]", "[::ffff:168.63.129.16]", "[64:ff9b::a83f:8110]"),
    ],
)
def test_no_cloud_is_asked_for_what_it_tells_its_machines(address) -> None:
    with pytest.raises(Refused):
        guard_of((), PORTS).check(read_url(f"http://{address}/"))


def test_a_resolver_that_never_answers_costs_no_more_than_the_time_limit() -> None:
    for_ever = Event()
    request = Request("GET", read_url("http://slow.example.com/"), {}, b"")

    with pytest.raises(NoAnswer, match="looking up"):
        exchange(request, guard_of((), PORTS), Deadline(0.2), keep=1, resolve=lambda host, port: for_ever.wait() and [])

    for_ever.set()


@pytest.mark.parametrize(
    ("allowed", "url", "fine"),
    [
        ("billing.internal", "http://billing.internal/", True),
        ("billing.internal", "http://BILLING.internal.:9/", True),
        ("billing.internal", "http://other.internal/", False),
        ("billing.internal", "http://x.billing.internal/", False),
        ("billing.internal:8080", "http://billing.internal:8080/", True),
        ("billing.internal:8080", "http://billing.internal:8081/", False),
        ("*.svc.cluster.local", "http://a.b.svc.cluster.local/", True),
        ("*.svc.cluster.local", "http://svc.cluster.local/", False),
        ("*.svc.cluster.local", "http://evilsvc.cluster.local/", False),
        ("10.1.0.0/16", "http://10.1.2.3/", True),
        ("10.1.0.0/16", "http://[::ffff:10.1.2.3]/", True),
        ("10.1.0.0/16", "http://[64:ff9b::10.1.2.3]/", True),
        ("10.1.0.0/16", "http://10.2.0.1/", False),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/", True),
        ("127.0.0.1:9000", "http://127.0.0.1:9001/", False),
        ("fd00::/8", "http://[fd12::1]/", True),
        ("[::1]:9000", "http://[::1]:9000/", True),
        ("[::1]:9000", "http://[::1]:22/", False),
        ("localhost", "http://localhost:25/", True),
        ("", "http://example.com:25/", False),
        ("", "http://example.com:8080/", True),
        ("example.com:25", "http://example.com:25/", True),
    ],
)
def test_the_allow_list_opens_what_it_names_and_nothing_else(allowed, url, fine) -> None:
    guard = guard_of(tuple(filter(None, [allowed])), PORTS)

    if fine:
        guard.check(read_url(url))
    else:
        with pytest.raises(Refused):
            guard.check(read_url(url))


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "10.0.0.1/8", "a b", "http://x", "x:y", "[::1", "300.1.1.1", "/"])
def test_an_allow_list_that_cannot_be_read_is_found_by_the_system_check(settings, entry) -> None:
    assert hosts_that_can_be_read() == []
    settings.HTTP_ALLOWED_HOSTS = (entry,)

    [found] = hosts_that_can_be_read()

    assert found.id == "punctual.E005" and repr(entry) in found.msg
