"""What can go wrong, named for the fact. Each says what the server said, and that says what to do."""

from __future__ import annotations

from punctual.models import Fault


class PunctualError(Exception):
    """Whatever this package raises."""


class Unreachable(PunctualError):
    """No answer, or none that makes sense, however often it was tried."""


class StillGoing(PunctualError):
    """What was waited for is not over yet."""


class Refused(PunctualError):
    """The server answered that it will not."""

    def __init__(self, status: int, detail: str, errors: list[Fault] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = errors or []


class Invalid(Refused):
    """400 or 422: `errors` says which fields are wrong, and how."""


class NotAllowed(Refused):
    """401 or 403: not signed in, or not yours to do."""


class NotFound(Refused):
    """404: there is no such thing, or it is not yours to see."""


class Conflict(Refused):
    """409 or 412: it is in another state than you thought."""


class RateLimited(Refused):
    """429, also after waiting as long as was asked for: you or your tenant are over a limit."""


KINDS: dict[int, type[Refused]] = {
    400: Invalid,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    422: Invalid,
    429: RateLimited,
}
