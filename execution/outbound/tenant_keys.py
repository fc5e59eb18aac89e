"""The keys that a tenant's requests are signed with when their payload brings none: derived from the system's own."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings

from execution.outbound.signing import spell_secret, tenant_key


def keys_of(tenant_id: UUID) -> list[bytes]:
    """The current key first. While the system's own is being changed, receivers may know the key of either."""
    return [tenant_key(tenant_id, root) for root in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def secret_of(tenant_id: UUID) -> str:
    """What the tenant's receivers verify with."""
    return spell_secret(keys_of(tenant_id)[0])
