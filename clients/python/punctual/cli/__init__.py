"""Drives a Punctual job scheduler from a terminal. The environment names the server and who asks:

PUNCTUAL_URL       http://127.0.0.1:8000 without it
PUNCTUAL_KEY       an API key, or
PUNCTUAL_TOKEN     an access token, or
PUNCTUAL_USER      with PUNCTUAL_PASSWORD
PUNCTUAL_TENANT    the tenant to speak for, where that is not your first
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper

from punctual.cli.commands import run
from punctual.cli.options import parser
from punctual.cli.showing import printable
from punctual.client import Punctual
from punctual.errors import PunctualError, Refused

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ) -> int:
    options = parser(__doc__ or "").parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not be able to show every character
    try:
        with _client(options.url, options.tenant, environment) as punctual:
            code = run(punctual, options)
            sys.stdout.flush()  # here, where a reader who has gone is expected
            return code
    except Refused as error:
        rest = (fault for fault in error.errors if fault.message not in error.detail)
        _complain(error.detail, *(f"          {fault.field}: {fault.message}" for fault in rest))
    except PunctualError as error:
        _complain(str(error))
    except ValueError as error:
        _complain(str(error))
        return MISUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read has seen enough
        return 0
    return FAILED


def _complain(text: str, *more: str) -> None:
    for line in (f"punctual: {text}", *more):
        print(printable(line), file=sys.stderr)


def _client(url: str | None, tenant: str | None, environment: Mapping[str, str]) -> Punctual:
    return Punctual(
        url or environment.get("PUNCTUAL_URL", "http://127.0.0.1:8000"),
        key=environment.get("PUNCTUAL_KEY"),
        token=environment.get("PUNCTUAL_TOKEN"),
        username=environment.get("PUNCTUAL_USER"),
        password=environment.get("PUNCTUAL_PASSWORD"),
        tenant=tenant or environment.get("PUNCTUAL_TENANT"),
    )
