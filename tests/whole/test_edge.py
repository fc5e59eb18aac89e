"""The web server in front of strangers: slow, silent and lying clients cost nobody else an answer."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.whole.processes import eventually, web_alone

# What is shown here has nothing to do with the servers: once is enough.
pytestmark = pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode")

THREADS = 2  # of `web_alone`
MANY = 20 * THREADS
PATIENCE = 20  # seconds for an answer: it would come never, not late
TOKEN = "/api/v1/auth/token"
LARGE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


@pytest.fixture(scope="module")
def address(django_db_setup: None) -> Iterator[str]:
    with web_alone(TRANSFER_PATIENCE="600") as address:
        yield address


@pytest.fixture(scope="module")
def hasty(django_db_setup: None) -> Iterator[str]:
    """A server that waits for nobody, but long enough for what a busy machine does not do at once."""
    more = {"TRANSFER_RATE": "1000000000", "TRUSTED_PROXIES": "1", "LOGIN_ATTEMPTS_PER_ADDRESS": "2"}
    with web_alone(TRANSFER_PATIENCE="2", **more) as address:
        yield address


def connected(address: str, *, receives: int | None = None) -> socket.socket:
    to = urlsplit(address)
    sock = socket.socket()
    if receives is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    sock.settimeout(PATIENCE)
    sock.connect((to.hostname, to.port))
    return sock


def head(method: str, path: str, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def send(sock: socket.socket, data: bytes) -> None:
    """Send what the server refuses before it has read all of it: it may have answered and closed by then."""
    with suppress(ConnectionError):
        sock.sendall(data)


def read_all(sock: socket.socket) -> bytes:
    """Until the server closes the connection."""
    read = b""
    while piece := sock.recv(65536):
        read += piece
    return read


def status(address: str, path: str, body: bytes | None = None, **headers: str) -> int:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, body, given), timeout=PATIENCE) as answer:
            return answer.status
    except HTTPError as error:
        error.close()
        return error.code


def all_is_well(address: str) -> bool:
    asked = {"/healthz": 200, "/readyz": 200, "/metrics": 200, "/api/v1/jobs": 401}
    return {path: status(address, path) for path in asked} == asked


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        head("POST", TOKEN, **{"Content-Length": "1000", "Content-Type": "application/json"}),
        head("POST", TOKEN, **{"Content-Length": "1000", "Content-Type": "application/json"}) + b'{"username": "',
        head("POST", TOKEN, **{"Transfer-Encoding": "chunked", "Content-Type": "application/json"}) + b"5\r\n{",
    ],
    ids=["nothing", "slow headers", "no body", "slow body", "slow chunk"],
)
def test_everybody_is_answered_while_many_connections_send_no_more(address, beginning) -> None:
    with ExitStack() as open_connections:
        for _ in range(MANY):
            open_connections.enter_context(connected(address)).sendall(beginning)

        assert all_is_well(address)


def test_everybody_is_answered_while_many_connections_read_nothing(address) -> None:
    with ExitStack() as open_connections:
        for _ in range(MANY):
            open_connections.enter_context(connected(address, receives=4096)).sendall(head("GET", LARGE))

        assert all_is_well(address)


def test_health_checks_are_answered_while_every_thread_is_busy_and_the_queue_is_full(django_db_setup) -> None:
    with web_alone(WEB_QUEUE="1") as address, ExitStack() as open_connections:
        for _ in range(4 * THREADS):  # each is a password to be hashed: that takes its time
            sock = open_connections.enter_context(connected(address))
            body = b'{"username": "nobody", "password": "x"}'
            sock.sendall(head("POST", TOKEN, **{"Content-Type": "application/json", "Content-Length": str(len(body))}))
            sock.sendall(body)

        assert [status(address, path) for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]


def test_a_body_that_does_not_arrive_in_time_is_refused_and_its_connection_closed(hasty) -> None:
    with connected(hasty) as sock:
        sock.sendall(head("POST", TOKEN, **{"Content-Length": "1000"}) + b"{")

        answer = read_all(sock)

    assert answer.startswith(b"HTTP/1.1 408 ") and b"application/problem+json" in answer


@pytest.mark.parametrize("path", [TOKEN, "/api/v1/images", "/sign-in"])
def test_a_body_announced_as_too_large_is_refused_before_any_of_it_is_sent(address, path) -> None:
    with connected(address) as sock:
        sock.sendall(head("POST", path, **{"Content-Length": str(10**9)}))

        assert sock.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_needs_no_token_is_short(address) -> None:
    with connected(address) as sock:
        sock.sendall(head("POST", TOKEN, **{"Content-Length": str(20_000)}))

        assert sock.recv(65536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(("path", "cookie", "told"), [("/sign-in", 9_000, b"431 "), ("/" + "x" * 9_000, 1, b"414 ")])
def test_long_headers_and_urls_are_refused_before_a_thread_reads_them(address, path, cookie, told) -> None:
    with connected(address) as sock:
        sock.sendall(head("GET", path, Cookie='a="' + "\\" * cookie + '"'))

        assert sock.recv(65536).startswith(b"HTTP/1.1 " + told)


def test_a_body_of_unknown_length_is_refused_once_it_is_too_large(address) -> None:
    with connected(address) as sock:
        sock.sendall(head("POST", "/api/v1/jobs", **{"Transfer-Encoding": "chunked"}))
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(settings.MAX_BODY_BYTES // 0x10000 + 1):
            send(sock, chunk)

        assert sock.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_body_sent_in_chunks_is_read_whole(address) -> None:
    to = urlsplit(address)
    with closing(HTTPConnection(to.hostname, to.port, timeout=PATIENCE)) as connection:
        chunks = iter([b'{"username": "nob', b'ody", "password": "x"}'])
        connection.request("POST", TOKEN, chunks, {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()

        assert (answer.status, json.loads(answer.read())["detail"].split()[0]) == (401, "Incorrect")


def test_a_body_that_breaks_off_is_not_acted_on(address) -> None:
    name = "broken_off"
    body = json.dumps({"username": name, "password": "correct horse battery", "email": "a@example.com"}).encode()
    registering = {"Content-Type": "application/json", "Content-Length": str(len(body) + 10)}
    with connected(address) as sock:
        sock.sendall(head("POST", "/api/v1/auth/register", **registering) + body)
        sock.shutdown(socket.SHUT_WR)
        assert b" 201 " not in read_all(sock)[:20]

    token = json.dumps({"username": name, "password": "correct horse battery"}).encode()
    assert status(address, TOKEN, token, Content_Type="application/json") == 401


@pytest.mark.parametrize(
    "body",
    [b"zz\r\n", b"2;" + b"a" * 60_000 + b"\r\n{}\r\n0\r\n\r\n", b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 5_000 + b"\r\n"],
    ids=["no chunks", "long extension", "long trailers"],
)
def test_chunks_that_cannot_be_read_are_the_clients_fault(address, body) -> None:
    with connected(address) as sock:
        sock.sendall(head("POST", TOKEN, **{"Transfer-Encoding": "chunked", "Content-Type": "application/json"}))
        send(sock, body)

        assert sock.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_an_answer_that_is_not_read_is_given_up(hasty) -> None:
    with connected(hasty, receives=4096) as sock:
        sock.sendall(head("GET", LARGE))
        eventually(lambda: dropped(hasty, "slow_reader"))

        answer = read_all(sock)

    headers, _, body = answer.partition(b"\r\n\r\n")
    assert len(body) < int(re.search(rb"content-length: (\d+)", headers)[1])


def dropped(address: str, reason: str) -> bool:
    with urllib.request.urlopen(f"{address}/metrics", timeout=PATIENCE) as answer:
        [count] = re.findall(rf'^web_requests_dropped_total{{reason="{reason}"}} (.+)$', answer.read().decode(), re.M)
    return float(count) > 0


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_answers_are_whole_over_a_connection_that_is_kept(address, method) -> None:
    to = urlsplit(address)
    with closing(HTTPConnection(to.hostname, to.port, timeout=PATIENCE)) as connection:
        sizes = []
        for path in (LARGE, "/healthz", "/api/v1/jobs", "/healthz"):
            connection.request(method, path)
            answer = connection.getresponse()
            sizes.append((int(answer.headers["Content-Length"]), len(answer.read())))

    assert all(read == (size if method == "GET" else 0) for size, read in sizes)
    assert sizes[0][0] > 1_000_000


def test_a_client_does_not_choose_its_address_by_headers_with_underscores(hasty) -> None:
    """For an application they are the same as the proxy's own."""
    tried = []
    for number in range(4):
        with connected(hasty) as sock:
            body = json.dumps({"username": f"nobody{number}", "password": "x"}).encode()
            told = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
            sock.sendall(head("POST", TOKEN, X_Forwarded_For=f"203.0.113.{number}", **told) + body)
            tried.append(read_all(sock)[9:12])

    assert tried == [b"401", b"401", b"429", b"429"]
