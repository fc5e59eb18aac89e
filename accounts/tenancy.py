"""Which tenant a request speaks for, and what its user may do there."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Membership, Tenant, User
from accounts.models.api_key import Scope

HEADER = "X-Tenant-ID"
MAY_WRITE = (Membership.Role.OWNER, Membership.Role.MEMBER)


class UnknownTenant(Exception):
    """The request names a tenant that is not one of the user's, or the user has none."""


class MayOnlyLook(Exception):
    """The user's role in the tenant does not allow changes."""


class OutOfScope(Exception):
    """The API key may not do this."""


def membership_for(user: User, wanted: str | None, *, to_write: bool) -> Membership:
    """The user's membership in the tenant `wanted`; without a wish, in the one they have belonged to longest.

    A tenant that exists but is not theirs is told from one that does not exist by nobody.
    """
    membership = _of_key(user, wanted, to_write=to_write) if _by_key(user) else _known_or_found(user, wanted)
    if to_write and membership.role not in MAY_WRITE:
        raise MayOnlyLook(f"In {membership.tenant} you are a {membership.role}. Ask an owner to make you a member.")
    return membership


def _by_key(user: User) -> bool:
    return user.standing is not None and user.standing.key is not None


def _of_key(user: User, wanted: str | None, *, to_write: bool) -> Membership:
    """A key speaks for its own tenant, also where whoever made it belongs to others, and within its scopes."""
    standing = user.standing
    if wanted is not None and tenant_named(wanted) != standing.key.tenant_id:
        raise UnknownTenant(f"This API key belongs to tenant {standing.key.tenant_id}. Leave {HEADER} out.")
    needed = Scope.WRITE if to_write else Scope.READ
    if not standing.key.allows(needed):
        raise OutOfScope(f"This API key lacks the `{needed.value}` scope. Create a key that has it.")
    return standing.membership


def _known_or_found(user: User, wanted: str | None) -> Membership:
    known = user.standing is not None and user.standing.wanted == wanted
    membership = user.standing.membership if known else _find(user, wanted)
    if membership is None:
        raise UnknownTenant(_remedy(user, wanted))
    return membership


def _own(user: User) -> QuerySet[Membership]:
    return user.memberships.select_related("tenant").order_by("created_at", "id")


def _find(user: User, wanted: str | None) -> Membership | None:
    own = _own(user)
    return own.first() if wanted is None else own.filter(tenant=tenant_named(wanted)).first()


def tenant_named(text: str) -> UUID | None:
    """The id that a request's header spells; None when it spells none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def tenant_called(wanted: str | None) -> Tenant:
    """The tenant with this id or name, for whoever runs the system; without a wish, the only one that there is."""
    identity = None if wanted is None else tenant_named(wanted)
    known = Tenant.objects.order_by("created_at")
    if identity is not None:
        known = known.filter(pk=identity)
    elif wanted is not None:
        known = known.filter(name=wanted)
    found = list(known[:2])
    if len(found) == 1:
        return found[0]
    if wanted is None:
        raise UnknownTenant("Say which tenant with --tenant: its id or its name.")
    raise UnknownTenant(f"--tenant {wanted!r}: {'several have' if found else 'none has'} that name. Give its id.")


def _remedy(user: User, wanted: str | None) -> str:
    if wanted is None:
        return "You belong to no tenant. Ask an owner to invite you."
    names = ", ".join(f"{one.tenant_id} ({one.tenant.name})" for one in _own(user)[:5]) or "none"
    return f"{HEADER}: {wanted[:64]!r} is not one of your tenants. Yours: {names}."
