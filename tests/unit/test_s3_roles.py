"""Files on S3 in the name of a role that the platform lends: no key is in anybody's environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile

from execution.storage.credentials import AGAIN, Credentials, CredentialsUnavailable, Lent, role_of
from execution.storage.s3 import S3Storage
from tests.bucket import KEY, SECRET, Bucket

TOKEN = "lent/for+an-hour=="
ROLE = "arn:aws:iam::123456789012:role/punctual-files"
NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOTHING = dict.fromkeys(("role_arn", "token_file", "sts", "url", "path", "authorization_file"), "")


class Lender(ThreadingHTTPServer):
    """Both of AWS's ways to lend a role, to who shows the right token."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Lending)
        self.asked = 0
        self.expects = "who we are"
        self.answer: bytes | None = None
        self.url = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class Lending(BaseHTTPRequestHandler):
    server: Lender

    def log_message(self, *args) -> None:
        pass

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        wanted = {
            "Action": ["AssumeRoleWithWebIdentity"],
            "Version": ["2011-06-15"],
            "RoleArn": [ROLE],
            "RoleSessionName": ["punctual"],
            "WebIdentityToken": [self.server.expects],
        }
        made = f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{KEY}</AccessKeyId>
          <SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>{TOKEN}</SessionToken>
          <Expiration>{self.end()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
          </AssumeRoleWithWebIdentityResponse>"""
        self.say(made.encode() if asked == wanted else None)

    def do_GET(self) -> None:
        made = {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": self.end()}
        known = self.path == "/v1/credentials" and self.headers["Authorization"] == self.server.expects
        self.say(json.dumps(made).encode() if known else None)

    def end(self) -> str:
        return f"{datetime.now(UTC) + HOUR:%Y-%m-%dT%H:%M:%SZ}"

    def say(self, body: bytes | None) -> None:
        self.server.asked += 1
        body = self.server.answer if self.server.answer is not None else body
        self.send_response(200 if body is not None else 403)
        self.end_headers()
        self.wfile.write(body if body is not None else b"<Error><Code>AccessDenied</Code>who we are</Error>")


@pytest.fixture
def lender() -> Iterator[Lender]:
    server = Lender()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = Bucket()
    server.token = TOKEN
    yield server
    server.stop()


@pytest.fixture
def token_file(tmp_path) -> Path:
    (tmp_path / "token").write_text("who we are\n")
    return tmp_path / "token"


@pytest.fixture(params=["web identity", "container"])
def platform(request, lender, token_file) -> dict[str, str]:
    if request.param == "web identity":
        return NOTHING | {"role_arn": ROLE, "token_file": str(token_file), "sts": lender.url}
    return NOTHING | {"url": f"{lender.url}/v1/credentials", "authorization_file": str(token_file)}


def storage_on(bucket: Bucket, platform: dict[str, str], **changes: str) -> S3Storage:
    return S3Storage(**bucket.options(access_key="", secret_key="") | changes, platform=platform)


def test_a_file_is_kept_in_the_name_of_a_role_that_is_fetched_once(bucket, lender, platform) -> None:
    storage = storage_on(bucket, platform)

    storage.save("name", ContentFile(b"content"))

    assert storage.open("name").read() == b"content" and lender.asked == 1


def test_keys_of_our_own_are_used_where_there_are_any(bucket, lender, platform) -> None:
    bucket.token = None

    storage_on(bucket, platform, access_key=KEY, secret_key=SECRET).save("name", ContentFile(b"x"))

    assert lender.asked == 0


def test_a_token_that_was_renewed_in_its_file_is_the_one_that_is_shown(bucket, lender, platform, token_file) -> None:
    lender.expects = "the next token"
    storage = storage_on(bucket, platform)

    with pytest.raises(CredentialsUnavailable, match="403") as told:
        storage.save("name", ContentFile(b"x"))
    token_file.write_text(lender.expects)
    storage.save("name", ContentFile(b"x"))

    assert "who we are" not in str(told.value)


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b"<a/>", b'{"AccessKeyId": 1, "Expiration": "soon"}', b"\xff"])
def test_an_answer_without_credentials_is_an_error_of_the_storage(bucket, lender, platform, answer) -> None:
    lender.answer = answer

    with pytest.raises(CredentialsUnavailable):
        storage_on(bucket, platform).exists("name")


def test_a_lender_that_is_away_or_a_token_that_is_missing_is_an_error_of_the_network(bucket, tmp_path) -> None:
    for platform in (
        NOTHING | {"url": "http://127.0.0.1:1/v1/credentials"},
        NOTHING | {"role_arn": ROLE, "token_file": str(tmp_path / "none"), "sts": "http://127.0.0.1:1"},
    ):
        with pytest.raises(OSError):
            storage_on(bucket, platform).exists("name")


class Role:
    """Fetches what ends an hour later, or fails."""

    def __init__(self) -> None:
        self.now, self.fetched, self.away = NOON, 0, False

    def __call__(self) -> Credentials:
        if self.away:
            raise CredentialsUnavailable("away")
        self.fetched += 1
        return Credentials(f"key {self.fetched}", "secret", "token", self.now + HOUR)


def passing(role: Role) -> Callable[[timedelta], str]:
    lent = Lent(role)

    def at(passed: timedelta) -> str:
        role.now = NOON + passed
        return lent.at(role.now).access_key

    return at


def test_a_role_is_renewed_before_it_ends() -> None:
    at = passing(Role())

    assert [at(HOUR * part) for part in (0, 0.5, 0.8, 0.9, 1.5, 2.2)] == [
        "key 1", "key 1", "key 1", "key 2", "key 2", "key 3",
    ]  # fmt: skip


def test_while_it_cannot_be_renewed_the_old_one_is_used_to_its_end() -> None:
    role = Role()
    at = passing(role)
    at(timedelta())
    role.away = True

    assert at(HOUR * 0.9) == at(HOUR * 0.95) == "key 1"
    with pytest.raises(CredentialsUnavailable):
        at(HOUR)

    role.away = False
    assert at(HOUR + AGAIN) == "key 2"


def test_what_the_platform_offers_is_found_out(bucket) -> None:
    assert role_of(region="eu-central-1", **NOTHING) is None
    assert role_of(region="eu-central-1", **NOTHING | {"role_arn": ROLE}) is None
    found = role_of(region="eu-central-1", **NOTHING | {"role_arn": ROLE, "token_file": "/t"})
    assert found is not None and found.endpoint == "https://sts.eu-central-1.amazonaws.com"
    found = role_of(region="eu-central-1", **NOTHING | {"path": "/v2/x"})
    assert found is not None and found.url == "http://169.254.170.2/v2/x"
    with pytest.raises(ImproperlyConfigured, match="AWS_ROLE_ARN"):
        storage_on(bucket, NOTHING)
