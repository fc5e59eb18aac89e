"""One request and its answer, over a connection of its own. Follows no redirect, uses no proxy, unpacks nothing.

What is compressed stays so: a few kilobytes can unpack to gigabytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse

from execution.outbound.connecting import connect
from execution.outbound.deadline import Deadline
from execution.outbound.errors import NoAnswer
from execution.outbound.guard import Guard
from execution.outbound.reading import BoundedLink, TooLong
from execution.outbound.resolving import Resolve, ask_system, checked_addresses
from execution.outbound.urls import Target

HEAD_BYTES = 64 * 1024  # of an answer's status and headers, interim ones included
WRAPPING = 8  # times as many bytes as are kept may be read: a body can come in chunks of one byte each


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case; of several alike, the first
    body: bytes
    truncated: bool  # there was more of the body


def exchange(
    request: Request,
    guard: Guard,
    deadline: Deadline,
    *,
    keep: int,
    ca_file: str = "",
    resolve: Resolve = ask_system,
) -> Answer:
    """Send the request and return the answer with the first `keep` bytes of its body. Refused, or NoAnswer."""
    addresses = checked_addresses(request.target, guard, deadline, resolve)
    link = BoundedLink(connect(request.target, addresses, deadline, ca_file=ca_file), deadline, HEAD_BYTES)
    try:
        response = _ask(request, link)
        return _read(response, link, keep)
    except NoAnswer:
        raise
    except HTTPException as error:
        raise NoAnswer(f"The answer is not HTTP, or not all of it came ({type(error).__name__}: {error}).") from error
    except (OSError, ValueError) as error:
        raise NoAnswer(f"The connection failed ({type(error).__name__}: {error}).") from error
    finally:
        link.hang_up()


def _ask(request: Request, link: BoundedLink) -> HTTPResponse:
    connection = HTTPConnection(request.target.host, request.target.port)
    connection.auto_open = 0  # never a connection but the one we bring
    connection.sock = link  # type: ignore[assignment]
    connection.putrequest(request.method, request.target.path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", request.target.authority)
    for name, value in request.headers.items():
        connection.putheader(name, value)
    if request.body or request.method not in ("GET", "HEAD", "OPTIONS"):
        connection.putheader("Content-Length", str(len(request.body)))
    connection.putheader("Accept-Encoding", "identity")
    connection.putheader("Connection", "close")
    connection.endheaders(request.body or None)
    response = connection.getresponse()
    if link.ended:  # `http.client` takes the end of the connection for the end of the headers
        raise NoAnswer("The answer ended within its headers.")
    if response.status < 200:
        raise NoAnswer(f"The answer was {response.status}, which is not a final one.")
    return response


def _read(response: HTTPResponse, link: BoundedLink, keep: int) -> Answer:
    link.allowance = HEAD_BYTES + keep * WRAPPING
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        headers.setdefault(name.lower(), value)
    body, more = b"", True
    try:
        while len(body) <= keep and (piece := response.read(keep + 1 - len(body))):
            body += piece
        more = len(body) > keep
    except TooLong:
        pass
    if not more and response.length:
        raise NoAnswer(f"The answer ended {response.length:,} bytes before the length it had announced.")
    return Answer(response.status, headers, body[:keep], more)
