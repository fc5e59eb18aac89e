"""Entity tags of jobs: what a client has seen, and whether it still holds.

A tag has two halves. The first is the job's version, which every act on it raises and nothing else does: that is what
`If-Match` is compared with, so that a job which comes due in between does not cost anybody their change. The second is
a digest of all that is shown, due times included: with it, `If-None-Match` saves whoever asks often the reading.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.numbers import WHOLE_NUMBER

ANY = "*"
TAG = re.compile(r'(W/)?"([^"]*)"')
VERSION = re.compile(rf"({WHOLE_NUMBER})-[0-9a-f]+", re.ASCII)


def tagged(
    job: Job, shown: dict[str, Any], code: int = status.HTTP_200_OK, headers: dict[str, str] | None = None
) -> Response:
    """The answer that shows a job, with its tag and what other headers it has."""
    return Response(shown, status=code, headers={"ETag": _etag(job, shown), **(headers or {})})


def tagged_unless_known(job: Job, shown: dict[str, Any], request: Request) -> Response:
    """The same, or that nothing has changed since the client last looked."""
    answer = tagged(job, shown)
    wanted = request.headers.get("If-None-Match", "").strip()
    # Compared weakly, as the standard has it: on their way tags may have been weakened.
    if wanted == ANY or answer["ETag"] in (f'"{tag}"' for _, tag in TAG.findall(wanted)):
        return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": answer["ETag"]})
    return answer


def versions_allowed(request: Request) -> frozenset[int] | None:
    """The versions that `If-Match` names; None, where any will do. One that is not ours names none."""
    wanted = request.headers.get("If-Match", ANY).strip()
    if wanted == ANY:
        return None
    strong = (tag for weak, tag in TAG.findall(wanted) if not weak)
    return frozenset(int(found[1]) for found in map(VERSION.fullmatch, strong) if found)


def _etag(job: Job, shown: dict[str, Any]) -> str:
    # PostgreSQL gives documents back with their keys in another order than they came.
    written = json.dumps(shown, sort_keys=True, default=str)
    return f'"{job.version}-{blake2b(written.encode(), digest_size=8).hexdigest()}"'
