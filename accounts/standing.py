"""Who a request comes from and what they are in the tenant it speaks for, in one statement.

Every request asks it. Django takes longer to write two queries for it than for all else that a new job costs.
"""

from __future__ import annotations

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection

from accounts.models import Membership, Standing, Tenant, User
from accounts.tenancy import tenant_named

# Of a user's memberships the oldest, or the one in the tenant that is wanted. What is not read here is read when asked.
READ = """
    SELECT u.id, u.username, u.is_active, m.id, m.role, t.id, t.name
    FROM accounts_user AS u
    LEFT JOIN accounts_membership AS m ON m.user_id = u.id {only}
    LEFT JOIN accounts_tenant AS t ON t.id = m.tenant_id
    WHERE u.id = %s
    ORDER BY m.created_at, m.id LIMIT 1
"""
ANY = READ.format(only="")
WANTED = READ.format(only="AND m.tenant_id = %s")


def user_with_standing(user_id: Any, wanted: str | None) -> User | None:
    """The user, with their standing in the tenant `wanted` as `membership_for` understands it; None without a user."""
    key = User._meta.pk.get_prep_value(user_id)
    with connection.cursor() as cursor:
        if wanted is None:
            cursor.execute(ANY, [key])
        else:
            tenant_key = Tenant._meta.pk.get_db_prep_value(tenant_named(wanted), connection)
            cursor.execute(WANTED, [tenant_key, key])
        row = cursor.fetchone()
    if row is None:
        return None
    user = User.from_db(DEFAULT_DB_ALIAS, ("id", "username", "is_active"), row[:3])
    user.standing = Standing(wanted, _membership(user, *row[3:]))
    return user


def _membership(user: User, pk: int | None, role: str, tenant_key: Any, tenant_name: str) -> Membership | None:
    if pk is None:
        return None
    tenant = Tenant.from_db(DEFAULT_DB_ALIAS, ("id", "name"), (Tenant._meta.pk.to_python(tenant_key), tenant_name))
    membership = Membership.from_db(
        DEFAULT_DB_ALIAS, ("id", "tenant_id", "user_id", "role"), (pk, tenant.pk, user.pk, role)
    )
    membership.user, membership.tenant = user, tenant
    return membership
