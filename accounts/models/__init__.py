"""Who is asking, and for whom: users, the tenants that own everything, and what each proves themselves with."""

from accounts.models.api_key import ApiKey
from accounts.models.bucket import Bucket
from accounts.models.email_proof import EmailProof
from accounts.models.invitation import Invitation
from accounts.models.known_address import KnownAddress
from accounts.models.people import Membership, Standing, Tenant, User
from accounts.models.token_family import TokenFamily

__all__ = [
    "ApiKey",
    "Bucket",
    "EmailProof",
    "Invitation",
    "KnownAddress",
    "Membership",
    "Standing",
    "Tenant",
    "TokenFamily",
    "User",
]
