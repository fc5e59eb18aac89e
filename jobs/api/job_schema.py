"""What the routes of jobs say of themselves in the API's description: headers, errors and what each means."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from jobs.api import expanding
from jobs.api.keys import HEADER, LONGEST, PATTERN, REPLAYED
from jobs.api.problem_schema import problems
from jobs.api.serializers import JobSerializer, ListedJobSerializer, NewJobSerializer, ShownJobSerializer

KEY_HEADER = OpenApiParameter(
    HEADER,
    {"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": PATTERN},
    OpenApiParameter.HEADER,
    description=(
        "A text of your choice, such as a UUID, that makes it safe to send a request again: for 24 hours, the same key "
        "with the same body makes nothing and is answered with what the first one made, as it is now. With another "
        "body it is refused (422), and while the first one is being carried out, too (409)."
    ),
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` of the job as you have seen it. If anybody has changed it since, nothing is done (412).",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` of the answer that you have. If it still holds, the answer is 304 and has no body.",
)
NOT_MODIFIED = OpenApiResponse(description="Nothing that you have not seen.")


def etag_header(*codes: int) -> OpenApiParameter:
    return OpenApiParameter(
        "ETag",
        str,
        OpenApiParameter.HEADER,
        response=list(codes),
        description="For `If-Match`, which looks at who has changed the job; and for `If-None-Match`, which looks at "
        "all that is shown.",
    )


def replayed_header(*codes: int) -> OpenApiParameter:
    return OpenApiParameter(
        REPLAYED,
        {"type": "string", "enum": ["true"]},
        OpenApiParameter.HEADER,
        response=list(codes),
        description="There, and `true`, where the request had been carried out before: nothing was made this time.",
    )


def describe_act(operation_id: str, summary: str, answer: type = JobSerializer) -> object:
    """Of an act on one job that answers with it."""
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        request=None,
        parameters=[etag_header(200)],
        responses={200: answer, **problems(401, 403, 404, 409)},
    )


describe_jobs = extend_schema_view(
    list=extend_schema(
        operation_id="list_jobs",
        summary="List jobs, newest first",
        parameters=[expanding.PARAMETER],
        responses={200: ListedJobSerializer(many=True), **problems(400, 401, 403)},
    ),
    create=extend_schema(
        operation_id="create_job",
        summary="Create a job",
        request=NewJobSerializer,
        parameters=[KEY_HEADER, replayed_header(201), etag_header(201)],
        responses={201: JobSerializer, **problems(400, 401, 403, 409, 413, 422)},
    ),
    retrieve=extend_schema(
        operation_id="get_job",
        summary="Read a job",
        parameters=[expanding.PARAMETER, IF_NONE_MATCH, etag_header(200, 304)],
        responses={200: ShownJobSerializer, 304: NOT_MODIFIED, **problems(400, 401, 403, 404)},
    ),
    partial_update=extend_schema(
        operation_id="update_job",
        summary="Change a job from its next due time on",
        description="What is recorded already keeps what it was recorded with, and so does what runs.",
        parameters=[IF_MATCH, etag_header(200)],
        responses={200: JobSerializer, **problems(400, 401, 403, 404, 409, 412, 413)},
    ),
    destroy=extend_schema(
        operation_id="delete_job",
        summary="Delete a job; its history stays",
        description="What waits is cancelled. Its executions are still listed, with `job` as the filter.",
        parameters=[IF_MATCH],
        responses={204: OpenApiResponse(description="It is gone."), **problems(401, 403, 404, 412)},
    ),
)
