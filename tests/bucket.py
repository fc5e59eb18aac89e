"""A real server on loopback that speaks as much of S3 as files need, and checks every signature by itself."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

KEY, SECRET, REGION, BUCKET = "AKIDTESTS", "a secret/with+odd characters", "eu-central-1", "files"


class Bucket(ThreadingHTTPServer):
    """Refuses what is not signed, is old, or is not what was signed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.objects: dict[str, bytes] = {}
        self.refusal: int | None = None
        self.breaks_off = False
        self.token: str | None = None  # of a role that is lent: whoever has it must sign it too
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def options(self, **changes: str) -> dict[str, str]:
        """What a storage needs to know to keep its files here."""
        known = {"bucket": BUCKET, "region": REGION, "access_key": KEY, "secret_key": SECRET}
        return known | {"endpoint": f"http://127.0.0.1:{self.server_port}"} | changes

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class Answering(BaseHTTPRequestHandler):
    server: Bucket

    def log_message(self, *args) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        held = self.server.objects.get(self.path)
        if self.server.refusal:
            self.say(self.server.refusal, b"<Error><Code>SlowDown</Code></Error>")
        elif fault := self.fault(body):
            self.say(403, fault.encode())
        elif self.command == "PUT":
            self.server.objects[self.path] = body
            self.say(200)
        elif self.command == "DELETE":
            self.server.objects.pop(self.path, None)
            self.say(204)
        elif held is None:
            self.say(404)
        else:
            self.say(200, held)

    do_GET = do_HEAD = do_PUT = do_DELETE = answer

    def say(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if self.server.breaks_off else body)

    def fault(self, body: bytes) -> str:
        """What is wrong with the signature, worked out from what arrived: headers, path and body."""
        told = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
            r"SignedHeaders=([^,]+), Signature=(\w+)",
            self.headers.get("Authorization", ""),
        )
        if told is None:
            return "no signature"
        key, day, region, names, signature = told.groups()
        stamp = self.headers["x-amz-date"]
        age = datetime.now(UTC) - datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if key != KEY or region != REGION or not stamp.startswith(day) or abs(age.total_seconds()) > 900:
            return "wrong scope"
        if hashlib.sha256(body).hexdigest() != self.headers["x-amz-content-sha256"]:
            return "another body"
        if not {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names.split(";")):
            return "too little is signed"
        if self.headers["x-amz-security-token"] != self.server.token or (
            self.server.token and "x-amz-security-token" not in names.split(";")
        ):
            return "InvalidToken"
        path, _, query = self.path.partition("?")
        canonical = [self.command, path, query]
        canonical += [f"{name}:{self.headers[name].strip()}" for name in names.split(";")]
        canonical += ["", names, self.headers["x-amz-content-sha256"]]
        hashed = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, f"{day}/{region}/s3/aws4_request", hashed])
        secret = b"AWS4" + SECRET.encode()
        for step in (day, region, "s3", "aws4_request", text):
            secret = hmac.digest(secret, step.encode(), "sha256")
        return "" if hmac.compare_digest(secret.hex(), signature) else "SignatureDoesNotMatch"
