"""The API's description: generated once a process and format, then only sent."""

from __future__ import annotations

import gzip
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

MAX_AGE = 300  # seconds that a copy is used without asking whether it is still the same


class Description(NamedTuple):
    content_type: str
    file: str
    plain: bytes
    compressed: bytes
    digest: str


class SchemaView(SpectacularAPIView):
    """The same for everybody: generating it takes seconds of processor time, and asking for it takes no account."""

    _descriptions: dict[str, Description] = {}
    _lock = Lock()

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        description = self._described(request)
        compressed = "gzip" in request.headers.get("Accept-Encoding", "")
        headers = {
            "Content-Type": description.content_type,
            "Content-Disposition": description.file,
            "Cache-Control": f"public, max-age={MAX_AGE}",
            "ETag": f'"{description.digest}{"-gzip" if compressed else ""}"',
        }
        if compressed:
            headers["Content-Encoding"] = "gzip"
        answer = HttpResponse(description.compressed if compressed else description.plain, headers=headers)
        patch_vary_headers(answer, ("Accept-Encoding",))
        conditional = get_conditional_response(request, etag=headers["ETag"], response=answer)
        return conditional if conditional is not None else answer

    def _described(self, request: Request) -> Description:
        wanted = request.accepted_renderer.media_type
        with self._lock:  # concurrent requests wait instead of generating it again
            if wanted not in self._descriptions:
                generated = self.finalize_response(request, self._get_schema_response(request))
                generated.render()
                self._descriptions[wanted] = Description(
                    generated.headers["Content-Type"],
                    generated.headers["Content-Disposition"],
                    generated.content,
                    gzip.compress(generated.content, mtime=0),
                    blake2b(generated.content, digest_size=8).hexdigest(),
                )
            return self._descriptions[wanted]

    def _get_version_parameter(self, request: Request) -> None:
        """There is one version. A parameter must not choose another text for everybody."""
