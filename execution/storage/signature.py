"""Signs requests to S3 by AWS Signature Version 4. Pure."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Signer:
    access_key: str
    secret_key: str
    region: str
    token: str = ""  # of a role that is lent

    def headers(self, method: str, host: str, path: str, body: bytes, now: datetime, query: str = "") -> dict[str, str]:
        """What the request has to say of itself. `path` and `query` are encoded already, as they are sent."""
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        digest = sha256(body).hexdigest()
        signed = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": stamp}
        if self.token:
            signed["x-amz-security-token"] = self.token
        names = ";".join(signed)
        lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
        request = "\n".join((method, path, query, lines, names, digest))
        scope = f"{stamp[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join((ALGORITHM, stamp, scope, sha256(request.encode()).hexdigest()))
        signature = hmac.new(self._key(scope), text.encode(), sha256).hexdigest()
        credential = f"Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**signed, "authorization": f"{ALGORITHM} {credential}"}

    def _key(self, scope: str) -> bytes:
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), sha256).digest()
        return key
