"""Who gets in where: every operation of the API's own description, for every kind of caller.

An operation without a row fails the test, so that nobody adds a route without having thought of Charlie. What is asked
for does not matter: a caller who is let in may be told that the body is wrong, one who is not must not learn even that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from accounts.inviting import invite
from accounts.keys import create_key
from accounts.models import Membership
from accounts.services import register
from execution.models import WorkerKey
from jobs import services
from jobs.models import AlertRule, AuditEvent, Execution, Incident, Replay
from jobs.services import NewJob
from jobs.states import ReplayState
from tests.alerting import rule_of
from tests.conftest import PASSWORD, client_of

ACTORS = ("anonymous", "stranger", "viewer", "member", "owner", "read_key", "expired_key", "staff")
IN, NOT_SIGNED_IN, FORBIDDEN, NOT_FOUND, NOTHING = "in", 401, 403, 404, "nothing of theirs"


def row(anonymous: Any, stranger: Any, viewer: Any, member: Any, owner: Any, read_key: Any) -> dict[str, Any]:
    """What each is answered. A key that has expired is nobody's, and being staff makes nobody a member."""
    told = (anonymous, stranger, viewer, member, owner, read_key, NOT_SIGNED_IN, stranger)
    return dict(zip(ACTORS, told, strict=True))


OPEN = dict.fromkeys(ACTORS, IN)
# Things of the tenant, by their id; lists and counts of them; and what makes or changes them.
LOOK = row(NOT_SIGNED_IN, NOT_FOUND, IN, IN, IN, IN)
LIST = row(NOT_SIGNED_IN, NOTHING, IN, IN, IN, IN)
ACT = row(NOT_SIGNED_IN, NOT_FOUND, FORBIDDEN, IN, IN, FORBIDDEN)
MAKE = row(NOT_SIGNED_IN, NOTHING, FORBIDDEN, IN, IN, FORBIDDEN)
OWN = row(NOT_SIGNED_IN, NOT_FOUND, FORBIDDEN, FORBIDDEN, IN, FORBIDDEN)
# What a person has and a machine does not: tenants of their own, keys, invitations.
PERSON = row(NOT_SIGNED_IN, NOTHING, IN, IN, IN, FORBIDDEN)
PEOPLE = row(NOT_SIGNED_IN, NOT_FOUND, IN, IN, IN, FORBIDDEN)
# For keys of another kind alone.
OTHERS = dict.fromkeys(ACTORS, (NOT_SIGNED_IN, FORBIDDEN))

ROWS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(["register", "get_token", "refresh_token", "logout"], OPEN),
    **dict.fromkeys(["request_password_reset", "reset_password"], OPEN),
    **dict.fromkeys(["get_account", "change_password", "request_email_verification", "verify_email"], PERSON),
    "sign_out_everywhere": PERSON,
    **dict.fromkeys(["get_job", "preview_job", "list_job_occurrences", "list_job_executions"], LOOK),
    **dict.fromkeys(["get_execution", "list_execution_logs", "get_replay", "get_image", "get_audit_event"], LOOK),
    **dict.fromkeys(["list_jobs", "list_executions", "list_dead_letters", "list_dead_letter_causes"], LIST),
    **dict.fromkeys(["list_replays", "list_audit_events", "list_tasks", "get_task", "schedule_load"], LIST),
    **dict.fromkeys(["get_alert", "get_incident"], LOOK),
    **dict.fromkeys(["list_alerts", "list_incidents"], LIST),
    **dict.fromkeys(["update_alert", "delete_alert", "test_alert"], ACT),
    "create_alert": MAKE,
    **dict.fromkeys(["update_job", "delete_job", "pause_job", "resume_job", "cancel_job", "run_job"], ACT),
    **dict.fromkeys(["backfill_job", "cancel_execution", "retry_execution"], ACT),
    **dict.fromkeys(["create_job", "create_jobs", "pause_jobs", "resume_jobs", "cancel_jobs", "delete_jobs"], MAKE),
    **dict.fromkeys(["replay_dead_letters", "discard_dead_letters", "create_image"], MAKE),
    "preview_schedule": row(NOT_SIGNED_IN, IN, IN, IN, IN, IN),
    "get_signing_secret": row(NOT_SIGNED_IN, NOTHING, FORBIDDEN, IN, IN, FORBIDDEN),
    "list_tenants": LIST,
    **dict.fromkeys(["create_tenant", "accept_invitation"], PERSON),
    **dict.fromkeys(["get_tenant", "list_members"], PEOPLE),
    **dict.fromkeys(["rename_tenant", "change_role", "invite", "list_invitations", "withdraw_invitation"], OWN),
    "remove_member": OWN,
    **dict.fromkeys(["list_destinations", "get_stats"], LIST),
    **dict.fromkeys(["worker_claim", "worker_heartbeat", "worker_complete", "worker_fail"], OTHERS),
    "list_worker_keys": row(NOT_SIGNED_IN, NOTHING, FORBIDDEN, FORBIDDEN, IN, FORBIDDEN),
    "make_worker_key": row(NOT_SIGNED_IN, NOTHING, FORBIDDEN, FORBIDDEN, IN, FORBIDDEN),
    "revoke_worker_key": OWN,
    "list_keys": PERSON,
    "create_key": row(NOT_SIGNED_IN, NOTHING, FORBIDDEN, IN, IN, FORBIDDEN),
    "revoke_key": row(NOT_SIGNED_IN, NOT_FOUND, FORBIDDEN, NOT_FOUND, IN, FORBIDDEN),
}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str


def operations() -> list[Operation]:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return [
        Operation(told["operationId"], method, path)
        for path, methods in paths.items()
        for method, told in methods.items()
    ]


OPERATIONS = operations()


@pytest.fixture
def names(alice, team) -> dict[str, str]:
    """What Alice's team has, by the name that paths give it."""
    job = services.create_job(NewJob("send_email", MAIL, DAILY), tenant=team, actor=alice)
    execution = services.run_job_now(job, actor=alice)
    key = create_key(tenant=team, creator=alice, name="ci", scopes=["read", "write"]).key
    invitation = invite(alice.memberships.get(), email="dan@example.com", role="member", link=str)
    bob = register(username="bob", email="bob@example.com", password=PASSWORD)
    Membership.objects.create(tenant=team, user=bob)
    replay = Replay.objects.create(
        tenant=team, actor=alice, state=ReplayState.DONE, canaries=[], others=[], created_at=timezone.now()
    )
    worker_key = WorkerKey.objects.create(
        name="fax", tasks=["fax"], tenant=team, owner=alice, digest="0" * 64, created_at=timezone.now()
    )
    rule = rule_of(team)
    now = timezone.now()
    incident = Incident.objects.create(
        kind="missed", tenant=team, job=job, subject="s", key="k", title="t", since=now, last_at=now, opened_at=now
    )
    return {
        "audit": str(AuditEvent.objects.filter(tenant=team).first().pk),
        "alerts": str(rule.pk),
        "incidents": str(incident.pk),
        "jobs": str(job.id),
        "executions": str(execution.id),
        "tenants": str(team.pk),
        "keys": str(key.pk),
        "invitations": str(invitation.invitation.pk),
        "members": str(bob.pk),
        "replays": str(replay.pk),
        "images": "0" * 32,
        "worker-keys": str(worker_key.pk),
        "tasks": "send_email",
    }


MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}
DAILY = {"type": "cron", "expression": "30 3 * * *", "timezone": "UTC"}


@pytest.fixture
def clients(alice, team) -> dict[str, Callable[[], APIClient]]:
    def member(role: str) -> APIClient:
        user = register(username=role, email=f"{role}@example.com", password=PASSWORD)
        Membership.objects.create(tenant=team, user=user, role=role)
        return client_of(user, team)

    def holder(**more: Any) -> APIClient:
        client = APIClient()
        made = create_key(tenant=team, creator=alice, name="k", scopes=["read"], **more)
        client.defaults["HTTP_AUTHORIZATION"] = f"Api-Key {made.text}"
        return client

    def staff() -> APIClient:
        user = register(username="staff", email="staff@example.com", password=PASSWORD)
        user.is_staff = user.is_superuser = True
        user.save()
        return client_of(user)

    return {
        "anonymous": APIClient,
        "stranger": lambda: client_of(register(username="charlie", email="c@example.com", password=PASSWORD)),
        "viewer": lambda: member("viewer"),
        "member": lambda: member("member"),
        "owner": lambda: client_of(alice, team),
        "read_key": holder,
        "expired_key": lambda: holder(expires_at=timezone.now() - timedelta(minutes=1)),
        "staff": staff,
    }


def address(operation: Operation, names: dict[str, str]) -> str:
    """The operation's path with what the names stand for: each follows the collection that it is in."""
    parts = operation.path.strip("/").split("/")
    return "/" + "/".join(names[parts[place - 1]] if part.startswith("{") else part for place, part in enumerate(parts))


def test_every_operation_has_a_row() -> None:
    assert {operation.id for operation in OPERATIONS} == set(ROWS)


@pytest.mark.parametrize("actor", ACTORS)
def test_nobody_gets_further_than_they_may(actor: str, names: dict[str, str], clients: dict[str, Any]) -> None:
    client = clients[actor]()
    wrong = []
    for operation in OPERATIONS:
        expected = ROWS[operation.id][actor]
        answer = client.generic(operation.method.upper(), address(operation, names), "{}", "application/json")
        if not fits(answer, expected, names):
            wrong.append((operation.id, expected, answer.status_code, answer.content[:150]))

    assert wrong == []


def fits(answer: Any, expected: Any, names: dict[str, str]) -> bool:
    if expected == IN:
        # 401 is how an open route says that a password or token is wrong.
        return answer.status_code < 500 and answer.status_code not in (403, 405)
    if expected == NOTHING:
        ids = [value for kind, value in names.items() if kind not in ("tasks", "images", "members", "audit")]
        return answer.status_code < 500 and not any(one in answer.content.decode() for one in ids)
    return answer.status_code in (expected if isinstance(expected, tuple) else (expected,))


@pytest.mark.parametrize("actor", ["stranger", "staff"])
def test_naming_a_tenant_makes_nobody_a_member(actor: str, names: dict[str, str], clients: dict[str, Any]) -> None:
    client = clients[actor]()
    client.defaults["HTTP_X_TENANT_ID"] = names["tenants"]

    refused = {
        operation.id: client.generic(
            operation.method.upper(), address(operation, names), "{}", "application/json"
        ).status_code
        for operation in OPERATIONS
        if ROWS[operation.id] in (LOOK, LIST, ACT, MAKE) and operation.id != "list_tenants"
    }

    assert set(refused.values()) == {403}, {name: status for name, status in refused.items() if status != 403}


def test_what_was_refused_has_changed_nothing(names: dict[str, str], clients: dict[str, Any]) -> None:
    before = json.dumps(state(names), default=str)

    for actor in ("anonymous", "stranger", "viewer", "read_key", "expired_key", "staff"):
        client = clients[actor]()
        for operation in OPERATIONS:
            if ROWS[operation.id][actor] in (NOT_SIGNED_IN, FORBIDDEN, NOT_FOUND):
                client.generic(operation.method.upper(), address(operation, names), "{}", "application/json")

    assert json.dumps(state(names), default=str) == before


def state(names: dict[str, str]) -> list[Any]:
    return [
        list(Execution.objects.order_by("pk").values()),
        list(AlertRule.objects.order_by("pk").values()),
        list(Execution.objects.get(pk=names["executions"]).job.audit_events.values()),
    ]
