"""Who takes part: an attacker with an account, and Bob, whose work must not suffer. Both speak HTTP only."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

PASSWORD = "correct horse battery"


class Client:
    """One registered user. Errors are answers too: an attacker does not stop at a 400."""

    def __init__(self, address: str, name: str) -> None:
        self.address = address
        self._token = ""
        who = {"username": name, "password": PASSWORD}
        self.ask("POST", "/api/v1/auth/register", {**who, "email": f"{name}@example.com"})
        status, told = self.ask("POST", "/api/v1/auth/token", who)
        assert status == 200, told
        self._token = json.loads(told)["access"]

    def ask(self, method: str, path: str, body: Any = None, *, timeout: float = 120) -> tuple[int, bytes]:
        """Return the status and the body; status 0 where there is no answer in time."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return 0, str(error).encode()

    def create(self, jobs: list[dict[str, Any]]) -> None:
        """Create jobs in bulk, all of them."""
        for start in range(0, len(jobs), 500):
            status, told = self.ask("POST", "/api/v1/jobs/bulk", {"jobs": jobs[start : start + 500]})
            assert status < 300 and json.loads(told)["invalid"] == 0, told[:500]
