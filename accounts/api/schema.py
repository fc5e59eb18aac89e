"""What the API's description says of limits, once for all routes that they apply to."""

from __future__ import annotations

from typing import Any

from jobs.api.problems import CONTENT_TYPE

HEADERS = {
    "RateLimit-Limit": "Requests a minute that are allowed, of the tenant or the key: whichever has less left.",
    "RateLimit-Remaining": "How many more can be sent at once.",
    "RateLimit-Reset": "Seconds until all of them can be sent again.",
    "RateLimit-Policy": "The limit, and the seconds that it is for.",
}
RETRY_AFTER = {"schema": {"type": "integer"}, "description": "Seconds to wait."}
METHODS = ("get", "post", "put", "patch", "delete")


def describe_limits(result: dict[str, Any], generator: Any, **options: Any) -> dict[str, Any]:
    """A drf-spectacular hook: headers on every answer to a request that is counted, and the answer to one too many."""
    kinds = {
        name: {"schema": {"type": "string" if name == "RateLimit-Policy" else "integer"}, "description": text}
        for name, text in HEADERS.items()
    }
    result.setdefault("components", {}).setdefault("headers", {}).update(kinds, **{"Retry-After": RETRY_AFTER})
    for path in result["paths"].values():
        for method in METHODS:
            if method in path:
                _describe(path[method])
    return result


def _describe(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if {} not in operation.get("security", [{}]):  # counted, since somebody is known to ask
        responses.setdefault("429", _too_many())
        for status, response in responses.items():
            if status != "401":  # nobody is known yet
                response.setdefault("headers", {}).update(_references(HEADERS))
    if "429" in responses:
        responses["429"].setdefault("headers", {}).update(_references(["Retry-After"]))


def _too_many() -> dict[str, Any]:
    problem = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": "Too many requests, or a quota of the day is used up.",
        "content": {CONTENT_TYPE: {"schema": problem}},
    }


def _references(names: Any) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
