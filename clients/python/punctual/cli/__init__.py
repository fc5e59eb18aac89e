"""`punctual`: the same from a terminal. Where the server is and who asks is in the environment, or in options.

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

from punctual.cli.commands import run
from punctual.cli.options import parser
from punctual.client import Punctual
from punctual.errors import PunctualError, Refused

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ) -> int:
    options = parser(__doc__ or "").parse_args(arguments)
    try:
        with _client(options.url, options.tenant, environment) as punctual:
            return run(punctual, options)
    except Refused as error:
        print(f"punctual: {error.detail}", file=sys.stderr)
        for fault in error.errors[1:]:
            print(f"          {fault.field}: {fault.message}", file=sys.stderr)
    except (PunctualError, ValueError) as error:
        print(f"punctual: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read has seen enough
        return 0
    return FAILED


def _client(url: str | None, tenant: str | None, environment: Mapping[str, str]) -> Punctual:
    return Punctual(
        url or environment.get("PUNCTUAL_URL", "http://127.0.0.1:8000"),
        key=environment.get("PUNCTUAL_KEY"),
        token=environment.get("PUNCTUAL_TOKEN"),
        username=environment.get("PUNCTUAL_USER"),
        password=environment.get("PUNCTUAL_PASSWORD"),
        tenant=tenant or environment.get("PUNCTUAL_TENANT"),
    )
