"""Who a request comes from and what they are in the tenant it speaks for, in one statement.

Every request asks it. Django takes longer to write two queries for it than for all else that a new job costs. Whether
the token's family is still there, or the key still good, is part of the same question: a sign-out or a revoked key
counts from the next request on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection

from accounts.models import ApiKey, Membership, Standing, Tenant, User
from accounts.tenancy import tenant_named

OF_USER = ("id", "username", "is_active")
OF_TENANT = ("id", "name", "rate_limit", "max_active_jobs", "max_payload_bytes", "max_executions_a_day")
OF_KEY = ("id", "tenant_id", "name", "digest", "scopes", "rate_limit", "expires_at", "revoked_at", "last_used_at")


def _columns(table: str, names: Sequence[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


# What is not read here is read when asked.
WHO = f"{_columns('u', OF_USER)}, m.id, m.role, {_columns('t', OF_TENANT)}"
# Of a user's memberships the oldest, or the one in the tenant that is wanted.
BY_TOKEN = f"""
    SELECT {WHO}
    FROM accounts_tokenfamily AS f JOIN accounts_user AS u ON u.id = f.user_id
    LEFT JOIN accounts_membership AS m ON m.user_id = u.id {{only}}
    LEFT JOIN accounts_tenant AS t ON t.id = m.tenant_id
    WHERE f.id = %s
    ORDER BY m.created_at, m.id LIMIT 1
"""
ANY = BY_TOKEN.format(only="")
WANTED = BY_TOKEN.format(only="AND m.tenant_id = %s")
BY_KEY = f"""
    SELECT {WHO}, {_columns("k", OF_KEY)}
    FROM accounts_apikey AS k JOIN accounts_user AS u ON u.id = k.creator_id
    LEFT JOIN accounts_membership AS m ON m.user_id = u.id AND m.tenant_id = k.tenant_id
    LEFT JOIN accounts_tenant AS t ON t.id = m.tenant_id
    WHERE k.prefix = %s
"""
LAST = len(OF_USER) + 2 + len(OF_TENANT)  # where the columns of a key begin


def user_with_standing(family: str | None, wanted: str | None) -> User | None:
    """The user of a family of tokens, with their standing in the tenant `wanted` as `membership_for` understands it.

    None when there is no such family, or no longer.
    """
    if not family:
        return None
    key = _as_stored(UUID(family))
    row = _read(ANY, [key]) if wanted is None else _read(WANTED, [_as_stored(tenant_named(wanted)), key])
    if row is None:
        return None
    user, membership = _people(row)
    user.standing = Standing(wanted, membership)
    return user


def key_with_standing(prefix: str, wanted: str | None) -> User | None:
    """The creator of a key, with the key and their standing in its tenant; None when there is no such key.

    Whether the key is any good is for the caller to see: nothing has been compared with it yet.
    """
    row = _read(BY_KEY, [prefix])
    if row is None:
        return None
    user, membership = _people(row)
    values = [Tenant._meta.pk.to_python(value) for value in row[LAST : LAST + 2]]
    values += [_aware(value) for value in row[LAST + 2 :]]
    user.standing = Standing(wanted, membership, ApiKey.from_db(DEFAULT_DB_ALIAS, OF_KEY, values))
    return user


def _read(statement: str, parameters: list[Any]) -> tuple | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()


def _as_stored(name: Any) -> Any:
    return Tenant._meta.pk.get_db_prep_value(name, connection)


def _aware(value: Any) -> Any:
    """SQLite's times have no zone; they are in UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _people(row: Sequence[Any]) -> tuple[User, Membership | None]:
    user = User.from_db(DEFAULT_DB_ALIAS, OF_USER, row[: len(OF_USER)])
    pk, role, tenant_key, *rest = row[len(OF_USER) : LAST]
    if pk is None:
        return user, None
    tenant = Tenant.from_db(DEFAULT_DB_ALIAS, OF_TENANT, (Tenant._meta.pk.to_python(tenant_key), *rest))
    membership = Membership.from_db(
        DEFAULT_DB_ALIAS, ("id", "tenant_id", "user_id", "role"), (pk, tenant.pk, user.pk, role)
    )
    membership.user, membership.tenant = user, tenant
    return user, membership
