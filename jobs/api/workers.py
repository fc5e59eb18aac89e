"""The routes of workers in other languages: claim, heartbeat, complete, fail. See docs/workers.md."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from execution.processes import get_counter
from execution.remote_work import BadResults, Failure, Leased
from jobs.api.problem_schema import problems
from jobs.api.worker_auth import HasWorkerKey, WorkerKeyAuthentication
from jobs.api.worker_schema import (
    ClaimAnswer,
    ClaimRequest,
    DoneSerializer,
    FailedSerializer,
    HeldSerializer,
    KeptSerializer,
    SaidSerializer,
    as_json,
    one_or_many,
    read_one_or_many,
    refused_field,
)
from jobs.ledger import Attempted
from jobs.states import IllegalMove

REFUSALS = (400, 401, 403, 413, 415)


class WorkerView(APIView):
    """Asked by a worker, which its key speaks for."""

    authentication_classes = [WorkerKeyAuthentication]
    permission_classes = [HasWorkerKey]


class ClaimView(WorkerView):
    @extend_schema(
        operation_id="worker_claim",
        tags=["worker"],
        summary="Claim executions to run, waiting for them if there are none",
        request=ClaimRequest,
        responses={200: ClaimAnswer, **problems(*REFUSALS)},
    )
    def post(self, request: Request) -> Response:
        wanted = ClaimRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        options = wanted.validated_data
        worker = options["worker"] or request.auth.name
        if ids := options.get("executions"):
            leased, left = get_counter().claim_these(request.auth, set(ids), worker=worker)
            return Response({"claims": _claimed(leased), "left": left})
        leased, waited = get_counter().await_work(
            request.auth,
            options.get("tasks", []),
            limit=options["limit"],
            worker=worker,
            wait=timedelta(seconds=options["wait"]),
        )
        return Response({"claims": _claimed(leased)}, headers={} if waited else {"Retry-After": "1"})


class HeartbeatView(WorkerView):
    @extend_schema(
        operation_id="worker_heartbeat",
        tags=["worker"],
        summary="Keep executions for another lease, and hear of cancellations",
        request=one_or_many(HeldSerializer),
        responses={200: one_or_many(KeptSerializer), **problems(*REFUSALS, 409)},
    )
    def post(self, request: Request) -> Response:
        said, alone = read_one_or_many(HeldSerializer, request.data)
        kept = get_counter().heartbeat(request.auth, [_key(one) for one in said])
        answers = [
            {
                "execution": one["execution"],
                "attempt": one["attempt"],
                "kept": _key(one) in kept,
                "lease_until": kept[_key(one)].until if _key(one) in kept else None,
                "cancelled": _key(one) in kept and kept[_key(one)].cancelled,
            }
            for one in said
        ]
        return _answer(answers, alone, kept)


class CompleteView(WorkerView):
    @extend_schema(
        operation_id="worker_complete",
        tags=["worker"],
        summary="Say that executions are done, with their results",
        request=one_or_many(DoneSerializer),
        responses={200: one_or_many(SaidSerializer), **problems(*REFUSALS, 409)},
    )
    def post(self, request: Request) -> Response:
        said, alone = read_one_or_many(DoneSerializer, request.data)
        try:
            recorded = get_counter().complete(request.auth, {_key(one): as_json(one["result"]) for one in said})
        except BadResults as bad:
            faults = {number: bad.faults[_key(one)] for number, one in enumerate(said) if _key(one) in bad.faults}
            raise refused_field("result", faults, alone=alone) from None
        return _answer(_said(said, recorded), alone, recorded)


class FailView(WorkerView):
    @extend_schema(
        operation_id="worker_fail",
        tags=["worker"],
        summary="Say that attempts have failed, and whether to try again",
        request=one_or_many(FailedSerializer),
        responses={200: one_or_many(SaidSerializer), **problems(*REFUSALS, 409)},
    )
    def post(self, request: Request) -> Response:
        said, alone = read_one_or_many(FailedSerializer, request.data)
        failures = {_key(one): Failure(one["error"], one["traceback"], one["retry"], one["retry_at"]) for one in said}
        recorded = get_counter().fail(request.auth, failures)
        return _answer(_said(said, recorded), alone, recorded)


def _claimed(leased: list[Leased]) -> list[dict[str, Any]]:
    return [
        {
            "execution": one.claim.execution_id,
            "attempt": one.claim.attempt,
            "task": one.claim.task,
            "job": one.claim.job_id,
            "payload": one.payload,
            "lease_seconds": one.lease.total_seconds(),
            "lease_until": one.until,
            "deadline": one.deadline,
        }
        for one in leased
    ]


def _key(said: dict[str, Any]) -> Attempted:
    return said["execution"], said["attempt"]


def _said(said: list[dict[str, Any]], recorded: Collection[Attempted]) -> list[dict[str, Any]]:
    return [
        {"execution": one["execution"], "attempt": one["attempt"], "recorded": _key(one) in recorded} for one in said
    ]


def _answer(answers: list[dict[str, Any]], alone: bool, ours: Collection[Attempted]) -> Response:
    """One thing by itself that does not count is an error; among several, each is told for itself."""
    if not alone:
        return Response({"items": answers})
    if _key(answers[0]) not in ours:
        raise IllegalMove(
            f"Attempt {answers[0]['attempt']} no longer speaks for this execution: the lease was lost, it is over, "
            "or it is not this key's. Stop working on it."
        )
    return Response(answers[0])
