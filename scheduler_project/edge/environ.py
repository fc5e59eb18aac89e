"""Translates an ASGI scope into a WSGI environ."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from scheduler_project.edge.refusals import Refusal, Refused

# Bytes of a URL, and of a header in all its lines, as usual proxies allow. Some libraries read headers at a quadratic
# cost: Python before 3.11.10 and 3.12.6 reads a cookie of 55 KB for seconds.
MAX_BYTES = 8 * 1024

Environ = dict[str, Any]
UNPREFIXED = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


def environ_of(scope: Mapping[str, Any]) -> Environ:
    """The environ of a request, without its body.

    Headers whose name has an underscore are dropped: in an environ `X_Forwarded_For`, which a client may send, is the
    same as `X-Forwarded-For`, which only a trusted proxy may. Raises Refused for what is too long.
    """
    if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_BYTES:
        raise Refused(Refusal.LONG_URL, limit=MAX_BYTES)
    server, port = scope["server"]
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name or (name == b"host" and not value):  # the server adds an empty host where there is none
            continue
        key = UNPREFIXED.get(name) or "HTTP_" + name.decode("latin-1").upper().replace("-", "_")
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if name == b'cookie' else ','}{text}"
        if len(text) > MAX_BYTES:
            raise Refused(Refusal.LONG_HEADER, name=name.decode("latin-1")[:100], limit=MAX_BYTES)
        environ[key] = text
    return environ
