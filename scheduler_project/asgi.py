"""The web application behind its edge, as `scheduler_project.serve` runs it."""

import sys

from scheduler_project.wsgi import application as wsgi  # first: it makes Django ready for the imports below

# isort: split
from django.conf import settings

from jobs.api.uploading import AROUND_THE_FILE
from scheduler_project.edge.answers import Answers
from scheduler_project.edge.application import Edge, Probes
from scheduler_project.edge.bodies import Bodies
from scheduler_project.edge.holding import Holding
from scheduler_project.edge.sockets import bound_connections
from scheduler_project.edge.threads import Threads
from scheduler_project.memory import Sweeper

UPLOADS = "/api/v1/images"
OPEN_TO_ALL = (
    "/api/v1/auth/",
    *("/sign-in", "/register", "/forgot-password", "/reset-password", "/invitation", "/admin/login"),
)
TURN = 0.0005  # seconds that a thread computes before others may: the event loop wants many turns for one answer
MAX_OPEN_BYTES = 16 * 1024  # of a body that needs no token: names, addresses and passwords, which are short


def max_body(path: str) -> int:
    """How many bytes a body may have that is sent to `path`."""
    if path.rstrip("/") == UPLOADS:
        return settings.UPLOAD_MAX_BYTES + AROUND_THE_FILE
    if path.startswith(OPEN_TO_ALL):
        return MAX_OPEN_BYTES
    if path.startswith("/api/"):
        return settings.MAX_BODY_BYTES
    return max(settings.MAX_BODY_BYTES, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)  # forms


def _edge() -> Edge:
    holding = Holding(settings.WEB_BUFFER_BYTES)
    patience, rate = settings.TRANSFER_PATIENCE.total_seconds(), settings.TRANSFER_RATE
    return Edge(
        wsgi,
        threads=Threads(settings.WEB_THREADS, settings.WEB_QUEUE),
        probes=Probes(wsgi),
        bodies=Bodies(holding, patience=patience, rate=rate, per_address=settings.BODIES_PER_ADDRESS),
        answers=Answers(holding, patience=patience, rate=rate),
        max_body=max_body,
        after_transfer=Sweeper().passed,
        on_first_request=bound_connections,  # only then does the server listen
    )


sys.setswitchinterval(TURN)
application = _edge()
