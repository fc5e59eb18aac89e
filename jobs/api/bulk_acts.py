"""One act on many jobs: how it is asked for over the API, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from accounts.models import Tenant, User
from jobs.api.serializers import JOB_ROW
from jobs.api.strict import BodySerializer, BoundedListField, IdField
from jobs.bulk_acts import Acted

MOST_IDS = 1000  # a call
OK, NOT_FOUND, REFUSED = "ok", "not_found", "refused"
UNKNOWN = "There is no such job, or it is not yours to see."


class ActOnEach(Protocol):
    def __call__(self, ids: Sequence[UUID], *, tenant: Tenant, actor: User | None) -> Mapping[UUID, Acted]: ...


class JobIdsSerializer(BodySerializer):
    ids = BoundedListField(child=IdField(), min_length=1, max_length=MOST_IDS)


def read_ids(body: Any) -> list[UUID]:
    """The jobs that a body names, in its order; or what is wrong with it."""
    wanted = JobIdsSerializer(data=body)
    wanted.is_valid(raise_exception=True)
    return wanted.validated_data["ids"]


def told_of_acts(ids: Sequence[UUID], acted: Mapping[UUID, Acted]) -> dict[str, Any]:
    """What became of each, in the order they were sent. One that was sent twice is told twice."""
    results = [{"index": index, "id": one, **_told(acted.get(one))} for index, one in enumerate(ids)]
    statuses = [result["status"] for result in results]
    return {"results": results, **{status: statuses.count(status) for status in (OK, NOT_FOUND, REFUSED)}}


def _told(acted: Acted | None) -> dict[str, Any]:
    if acted is None:
        return {"status": NOT_FOUND, "reason": UNKNOWN}
    if acted.refused:
        return {"status": REFUSED, "reason": acted.refused, "job": JOB_ROW.to_representation(acted.job)}
    told = {"status": OK, "job": JOB_ROW.to_representation(acted.job)}
    return told | {"missed_since": acted.missed_since} if acted.missed_since else told
