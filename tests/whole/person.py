"""Speaks HTTP with a token, as a script with curl would."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

DORA = {"username": "dora", "email": "dora@example.com", "password": "correct horse battery"}


class Person:
    """Registers, signs in, and asks."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.token = ""
        self.ask("POST", "/api/v1/auth/register", DORA)
        self.sign_in()

    def sign_in(self) -> None:
        self.token = ""
        self.token = self.ask("POST", "/api/v1/auth/token", DORA)["access"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
