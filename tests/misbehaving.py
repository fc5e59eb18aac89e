"""A real HTTP server on loopback that does all that servers should not: the path says what."""

from __future__ import annotations

import gzip
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Event, Thread

OK = b"HTTP/1.1 200 OK\r\n"


@dataclass(frozen=True)
class Heard:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes


Act = Callable[["MisbehavingServer", socket.socket], None]
ACTS: dict[str, Act] = {}


def act(function: Act) -> Act:
    ACTS["/" + function.__name__.replace("_", "-")] = function
    return function


class MisbehavingServer:
    """Counts connections, keeps requests, and answers as the path says; `secured` makes it speak TLS."""

    def __init__(self, *, secured: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.connections = 0
        self.heard: list[Heard] = []
        self.stopped = Event()
        self._secured = secured
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, dualstack_ipv6=host == "::")
        self.port: int = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self._secured else 'http'}://{host}:{self.port}{path}"

    def stop(self) -> None:
        self.stopped.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection:
            connection.settimeout(60)
            if self._secured:
                connection = self._secured.wrap_socket(connection, server_side=True)
            with connection:
                heard = self._hear(connection)
                self.heard.append(heard)
                ACTS[heard.path.partition("?")[0]](self, connection)

    def _hear(self, connection: socket.socket) -> Heard:
        with connection.makefile("rb") as file:
            method, path, _ = file.readline().decode().split(" ", 2)
            headers = {}
            while line := file.readline().strip():
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            return Heard(method, path, headers, file.read(int(headers.get("content-length", 0))))

    def pour(self, connection: socket.socket, piece: bytes, every: float = 0.0) -> None:
        """Send the piece again and again, until nobody wants it any more."""
        while not self.stopped.wait(every) if every else not self.stopped.is_set():
            connection.sendall(piece)


def _answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


# Those that are in order.


@act
def fine(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("200 OK", "Content-Type: text/plain", "X-Secret: not kept", body="Grüße".encode()))


@act
def chunked(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n")


@act
def until_closed(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"\r\nno length, just an end")


@act
def created(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("201 Created", "Location: /things/1", body=b"{}"))


@act
def not_found(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("404 Not Found", body=b"no such thing"))


@act
def gone(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("410 Gone"))


@act
def bad_request(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("400 Bad Request", body=b"say what you \x00 mean"))


# Those that ask to come back.


@act
def later_in_seconds(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("429 Too Many Requests", "Retry-After: 120"))


@act
def later_at_date(server: MisbehavingServer, connection: socket.socket) -> None:
    # The server's own clock is a year behind: what counts is the time between its dates.
    now = datetime.now(UTC) - timedelta(days=365)
    date, later = (format_datetime(one, usegmt=True) for one in (now, now + timedelta(minutes=5)))
    connection.sendall(_answer("503 Service Unavailable", f"Date: {date}", f"Retry-After: {later}"))


@act
def later_in_garbage(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("429 Too Many Requests", "Retry-After: soon-ish, or -5"))


@act
def much_later(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("503 Service Unavailable", "Retry-After: 99999999999999999999"))


@act
def at_once(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("429 Too Many Requests", "Retry-After: 0"))


@act
def unavailable(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("503 Service Unavailable", body=b"<h1>Down</h1>"))


@act
def request_timeout(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("408 Request Timeout"))


@act
def too_early(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("425 Too Early"))


@act
def broken(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("500 Internal Server Error"))


# Those that lead elsewhere.


@act
def redirect_to_canary(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("302 Found", f"Location: {server.url('/fine')}"))


@act
def redirect_for_ever(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("307 Temporary Redirect", f"Location: {server.url('/redirect-for-ever')}"))


# Those that take long, or send too much.


@act
def silent(server: MisbehavingServer, connection: socket.socket) -> None:
    server.stopped.wait()


@act
def slow_headers(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK)
    server.pour(connection, b"X", every=0.05)


@act
def slow_body(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 100000\r\n\r\n")
    server.pour(connection, b"x", every=0.05)


@act
def slow_chunks(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    server.pour(connection, b"1\r\nx\r\n", every=0.05)


@act
def stalled_body(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 10\r\n\r\nabc")
    server.stopped.wait()


@act
def endless_body(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"\r\n")
    server.pour(connection, b"x" * 65536)


@act
def endless_chunks(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    server.pour(connection, b"1\r\nx\r\n" * 1000)


@act
def huge(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 1099511627776\r\n\r\n")
    server.pour(connection, b"x" * 65536)


@act
def endless_chunk_extension(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n1;")
    server.pour(connection, b"x" * 65536)


@act
def endless_trailer(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
    server.pour(connection, b"X-Trailer: y\r\n" * 1000)


@act
def giant_header(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"X-Giant: ")
    server.pour(connection, b"x" * 65536)


@act
def many_headers(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK)
    server.pour(connection, b"X-Many: 1\r\n" * 1000)


@act
def endless_status_line(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 ")
    server.pour(connection, b"O" * 65536)


@act
def continue_for_ever(server: MisbehavingServer, connection: socket.socket) -> None:
    server.pour(connection, b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


@act
def gzip_bomb(server: MisbehavingServer, connection: socket.socket) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    connection.sendall(_answer("200 OK", "Content-Encoding: gzip", body=bomb))


# Those that do not say what they mean.


@act
def too_short(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 100\r\n\r\nonly this")


@act
def too_long(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 4\r\n\r\nfour, and more that does not belong")


@act
def negative_length(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: -1\r\n\r\nbody")


@act
def length_in_words(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: ten\r\n\r\nbody")


@act
def closes_at_once(server: MisbehavingServer, connection: socket.socket) -> None:
    pass


@act
def resets(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


@act
def closes_in_headers(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 O")


@act
def closes_in_chunk(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nabc")


@act
def chunk_garbage(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n")


@act
def negative_chunk(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n0\r\n\r\n")


@act
def bad_status_line(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 two hundred OK\r\n\r\n")


@act
def status_of_nothing(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n")


@act
def old_http(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"<html>HTTP/0.9 knows no headers</html>")


@act
def another_protocol(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example.com ESMTP\r\n")


@act
def tls_on_plain_port(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"\x15\x03\x01\x00\x02\x02\x46")


@act
def noise(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(os.urandom(4000).replace(b"\n", b" ") + b"\n\n")


@act
def switches(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")


@act
def no_content_but_some(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")


@act
def with_nul(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("200 OK", body=b"a\x00b"))


@act
def not_utf8(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("200 OK", "X-Request-ID: \xff\x01", body=b"\xff\xfe\x00"))


@act
def cut_through_a_character(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(_answer("200 OK", body=b"x" + "é".encode() * 100_000))


@act
def two_lengths(server: MisbehavingServer, connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 4\r\nContent-Length: 400\r\n\r\nbody")
