"""What every operation of the API may answer besides what it says of itself, for the API's description.

A client that was generated from the description must not meet an answer that it does not name. Most refusals are made
before a view is asked: by the parser, by authentication, by the limits. So they are told here, once.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.permissions import AllowAny

from accounts.tenancy import HEADER
from jobs.api.problem_schema import ProblemSerializer
from jobs.api.problems import CONTENT_TYPE
from jobs.api.scoped import TenantScoped

EVERYWHERE = {
    400: "What was sent is wrong: `errors` names each field at fault.",
    406: "Nothing that `Accept` names can be answered with.",
    503: "The database does not answer. Try again after `Retry-After` seconds.",
}
SIGNED_IN = {
    401: "Nobody is signed in: the token or key is missing, unknown, expired or revoked.",
    403: "Not yours to do: another tenant is named, or your role or your key's scope does not allow it.",
}
WITH_A_BODY = {
    413: "The body is larger than is taken.",
    415: "The body is of a kind that is not read here.",
}
WITH_A_NAME = {404: "There is no such thing, or it is not yours to see."}
ACTED_ON = {409: "It is not in a state that allows this; `detail` says which one it is in."}
SPOKEN_FOR = OpenApiParameter(
    HEADER,
    {"type": "string", "format": "uuid"},
    OpenApiParameter.HEADER,
    description="The tenant to speak for, of your own. Without it, the one that you have belonged to longest.",
)


class CompleteSchema(AutoSchema):
    """drf-spectacular's, with the refusals that any route of its kind may make."""

    def get_override_parameters(self) -> list[Any]:
        return [SPOKEN_FOR] if isinstance(self.view, TenantScoped) else []

    def _get_response_bodies(self, direction: str = "response") -> dict[str, Any]:
        answers = super()._get_response_bodies(direction)
        for status, description in self._refusals().items():
            code = str(status)
            if code not in answers:
                answer = self._get_response_for_code(ProblemSerializer, code, [CONTENT_TYPE], direction)
                answers[code] = answer | {"description": description}
        return dict(sorted(answers.items()))

    def _refusals(self) -> dict[int, str]:
        told = dict(EVERYWHERE)
        if not self._is_open():
            told |= SIGNED_IN
        if self.method in ("POST", "PUT", "PATCH"):
            told |= WITH_A_BODY
        if "{" in self.path:
            told |= WITH_A_NAME if self.method == "GET" else WITH_A_NAME | ACTED_ON
        return told

    def _is_open(self) -> bool:
        return any(isinstance(permission, AllowAny) for permission in self.view.get_permissions())
