"""The task `http_request`, against a real server that misbehaves in every way we could think of."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from execution.handlers.http_request import HttpCall, TryAgain, http_request
from execution.outbound import NoAnswer
from execution.outbound.signing import spell_secret, tenant_key
from execution.registry import InvalidPayload, Run, registry
from execution.retry import GiveUpNow, RetryLater
from jobs.documents import check_document
from tests.misbehaving import ACTS, MisbehavingServer

SECRET = spell_secret(b"k" * 32)
A_MOMENT = 0.3  # seconds: for those who would take for ever
KEPT = 1000  # bytes

COMPLETED = {
    "/fine": "Grüße",
    "/chunked": "abcde",
    "/until-closed": "no length, just an end",
    "/created": "{}",
    "/too-long": "four",
    "/no-content-but-some": "",
    "/negative-length": "body",
    "/length-in-words": "body",
    "/two-lengths": "body",
    "/with-nul": b"a\x00b",
    "/not-utf8": b"\xff\xfe\x00",
}
TRUNCATED = {
    "/endless-body": "x" * KEPT,
    "/endless-chunks": "x" * KEPT,
    "/huge": "x" * KEPT,
    "/cut-through-a-character": "x" + "é" * 499,
}
PERMANENT = {
    "/not-found": "404: no such thing",
    "/gone": "410",
    "/bad-request": r"400: say what you \\x00 mean",
    "/redirect-to-canary": "Redirects are not followed",
    "/redirect-for-ever": "Redirects are not followed",
}
WAITS = {
    "/later-in-seconds": timedelta(seconds=120),
    "/later-at-date": timedelta(minutes=5),
    "/much-later": timedelta(days=1),
    "/at-once": timedelta(seconds=1),
}
AGAIN = {
    "/later-in-garbage": "429",
    "/unavailable": "503: <h1>Down</h1>",
    "/request-timeout": "408",
    "/too-early": "425",
    "/broken": "500",
}
NO_ANSWER = {
    "/giant-header": "longer than",
    "/many-headers": "headers|longer than",
    "/endless-status-line": "longer than|LineTooLong",
    "/continue-for-ever": "longer than|interim responses",  # newer Pythons count them
    "/endless-chunk-extension": "IncompleteRead|LineTooLong",
    "/too-short": "91 bytes before",
    "/closes-at-once": "RemoteDisconnected|Reset",
    "/resets": "RemoteDisconnected|Reset",
    "/closes-in-headers": "within its headers",
    "/closes-in-chunk": "IncompleteRead",
    "/chunk-garbage": "IncompleteRead",
    "/negative-chunk": "IncompleteRead|ValueError",
    "/bad-status-line": "BadStatusLine",
    "/old-http": "BadStatusLine",
    "/another-protocol": "BadStatusLine",
    "/tls-on-plain-port": "BadStatusLine",
    "/noise": "BadStatusLine",
    "/switches": "101",
}
TIMED_OUT = ["/silent", "/slow-headers", "/slow-body", "/slow-chunks", "/stalled-body"]
ODD = ["/gzip-bomb", "/status-of-nothing", "/endless-trailer"]  # told one by one


@pytest.fixture(scope="module")
def peer() -> Iterator[MisbehavingServer]:
    server = MisbehavingServer()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def allowed(settings, peer: MisbehavingServer) -> None:
    settings.HTTP_ALLOWED_HOSTS = (f"127.0.0.1:{peer.port}",)
    settings.HTTP_KEEP_BYTES = KEPT
    settings.HTTP_LONGEST_WAIT = timedelta(days=1)


def a_run() -> Run:
    return Run(uuid4(), 1, uuid4())


def call(peer: MisbehavingServer, path: str, run: Run | None = None, **payload: Any) -> dict[str, Any]:
    checked = registry.get("http_request").read({"url": peer.url(path), "timeout": 60} | payload)
    result = http_request(checked, run or a_run())
    check_document(result)
    json.dumps(result)
    return result


def test_every_misbehaviour_has_a_test() -> None:
    told = [*COMPLETED, *TRUNCATED, *PERMANENT, *WAITS, *AGAIN, *NO_ANSWER, *TIMED_OUT, *ODD]

    assert sorted(told) == sorted(ACTS) and len(told) > 40


@pytest.mark.parametrize("path", COMPLETED)
def test_an_answer_is_kept(peer, path) -> None:
    result = call(peer, path)

    kept = result["body"] if result["encoding"] == "text" else base64.b64decode(result["body"])
    assert kept == COMPLETED[path]
    assert 200 <= result["status"] < 300 and not result["truncated"]


@pytest.mark.parametrize("path", TRUNCATED)
def test_of_a_long_answer_the_beginning_is_kept(peer, path) -> None:
    result = call(peer, path)

    assert (result["body"], result["truncated"], result["encoding"]) == (TRUNCATED[path], True, "text")


@pytest.mark.parametrize("path", PERMANENT)
def test_an_answer_that_will_not_change_is_given_up_at_once(peer, path) -> None:
    with pytest.raises(GiveUpNow, match=PERMANENT[path]):
        call(peer, path)


@pytest.mark.parametrize("path", WAITS)
def test_retry_after_is_obeyed_within_bounds(peer, path) -> None:
    with pytest.raises(RetryLater) as raised:
        call(peer, path)

    # A date has come closer by the time it is read, on a busy machine by a minute.
    assert WAITS[path] - timedelta(minutes=1) <= raised.value.at <= WAITS[path]


@pytest.mark.parametrize("path", AGAIN)
def test_an_answer_that_may_change_is_retried(peer, path) -> None:
    with pytest.raises(TryAgain, match=AGAIN[path]):
        call(peer, path)


@pytest.mark.parametrize(
    ("path", "away"),
    [("/unavailable", True), ("/later-at-date", True), ("/broken", False), ("/later-in-seconds", False)],
)
def test_whether_nobody_is_there_is_told_by_the_cause(peer, path, away) -> None:
    with pytest.raises((TryAgain, RetryLater)) as raised:
        call(peer, path)

    assert isinstance(raised.value.__cause__, ConnectionError) is away


@pytest.mark.parametrize("path", NO_ANSWER)
def test_what_is_no_answer_is_retried(peer, path) -> None:
    with pytest.raises(NoAnswer, match=NO_ANSWER[path]):
        call(peer, path)


@pytest.mark.parametrize("path", TIMED_OUT)
def test_a_slow_answer_ends_at_the_time_limit_however_busy_it_looks(peer, path) -> None:
    with pytest.raises(NoAnswer, match=r"time of 0\.3 s was up"):
        call(peer, path, timeout=A_MOMENT)


def test_nothing_compressed_is_unpacked(peer) -> None:
    result = call(peer, "/gzip-bomb")

    assert base64.b64decode(result["body"])[:2] == b"\x1f\x8b" and result["truncated"]
    assert peer.heard[-1].headers["accept-encoding"] == "identity"


def test_a_status_that_does_not_exist_is_no_success(peer) -> None:
    with pytest.raises((NoAnswer, TryAgain)):
        call(peer, "/status-of-nothing")


def test_an_endless_trailer_ends(peer) -> None:
    try:
        assert call(peer, "/endless-trailer")["truncated"]
    except NoAnswer as error:  # of newer Pythons, which count trailers
        assert "trailers" in str(error)


def test_a_redirect_is_never_followed(peer) -> None:
    before = peer.connections

    with pytest.raises(GiveUpNow):
        call(peer, "/redirect-to-canary")

    assert peer.connections == before + 1


def test_a_redirect_that_is_expected_is_kept(peer) -> None:
    result = call(peer, "/redirect-to-canary", expected=[302])

    assert (result["status"], result["headers"]["location"]) == (302, peer.url("/fine"))


def test_expected_statuses_are_the_only_success(peer) -> None:
    assert call(peer, "/not-found", expected=["2xx", 404])["status"] == 404
    assert call(peer, "/broken", expected=["5xx"])["status"] == 500
    with pytest.raises(GiveUpNow, match="200"):
        call(peer, "/fine", expected=[201])


def test_few_headers_are_kept(peer) -> None:
    assert call(peer, "/fine")["headers"] == {"content-type": "text/plain", "content-length": "7"}


def test_a_closed_port_is_retried(settings, peer) -> None:
    gone = MisbehavingServer()
    settings.HTTP_ALLOWED_HOSTS = ("127.0.0.1",)
    gone.stop()

    with pytest.raises(NoAnswer, match="No connection"):
        call(gone, "/fine")


@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        ({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'.encode(), "application/json"),
        ([], b"[]", "application/json"),
        (0, b"0", "application/json"),
        (False, b"false", "application/json"),
        ("plain é", "plain é".encode(), "text/plain; charset=utf-8"),
        ("", b"", "text/plain; charset=utf-8"),
    ],
)
def test_text_is_sent_as_it_is_and_everything_else_as_json(peer, body, sent, kind) -> None:
    call(peer, "/fine", body=body)

    heard = peer.heard[-1]
    assert (heard.method, heard.body, heard.headers["content-type"]) == ("POST", sent, kind)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_is_sent(peer, method) -> None:
    result = call(peer, "/fine?a=b&c=%20", method=method)

    heard = peer.heard[-1]
    assert (heard.method, heard.path, heard.body) == (method, "/fine?a=b&c=%20", b"")
    assert "content-type" not in heard.headers
    assert result["body"] == ("" if method == "HEAD" else "Grüße")


def test_a_large_body_arrives_whole(peer) -> None:
    call(peer, "/fine", body="x" * 400_000)

    assert len(peer.heard[-1].body) == 400_000


def test_own_headers_replace_ours_where_they_may(peer) -> None:
    call(peer, "/fine", body="<a/>", headers={"content-TYPE": "text/xml", "X-Own": "1", "user-agent": "me"})

    headers = peer.heard[-1].headers
    assert (headers["content-type"], headers["x-own"], headers["user-agent"]) == ("text/xml", "1", "me")
    assert headers["host"] == f"127.0.0.1:{peer.port}"


class TestSignatures:
    def test_the_reference_library_accepts_a_signed_request(self, peer) -> None:
        run = a_run()

        call(peer, "/fine", run, body={"hello": "wörld"}, signing_secret=SECRET)

        heard = peer.heard[-1]
        assert Webhook(SECRET).verify(heard.body, heard.headers) == {"hello": "wörld"}
        assert heard.headers["webhook-id"] == heard.headers["idempotency-key"] == str(run.execution_id)

    def test_it_refuses_another_secret_and_a_changed_body(self, peer) -> None:
        call(peer, "/fine", body={"amount": 1}, signing_secret=SECRET)

        heard = peer.heard[-1]
        with pytest.raises(WebhookVerificationError):
            Webhook(spell_secret(b"o" * 32)).verify(heard.body, heard.headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(heard.body.replace(b"1", b"9"), heard.headers)

    def test_without_a_secret_the_tenants_own_is_used(self, peer, settings) -> None:
        run = a_run()

        call(peer, "/fine", run, body="text")

        heard = peer.heard[-1]
        own = spell_secret(tenant_key(run.tenant_id, settings.SECRET_KEY))
        Webhook(own).verify(heard.body, heard.headers, json_parse=False)
        others = spell_secret(tenant_key(uuid4(), settings.SECRET_KEY))
        with pytest.raises(WebhookVerificationError):
            Webhook(others).verify(heard.body, heard.headers, json_parse=False)

    def test_while_the_root_changes_either_key_is_accepted(self, peer, settings) -> None:
        run = a_run()
        old, settings.SECRET_KEY = settings.SECRET_KEY, "new root"
        settings.SECRET_KEY_FALLBACKS = [old]

        call(peer, "/fine", run, body={})

        heard = peer.heard[-1]
        for root in (old, "new root"):
            assert Webhook(spell_secret(tenant_key(run.tenant_id, root))).verify(heard.body, heard.headers) == {}

    def test_every_attempt_has_the_same_id(self, peer) -> None:
        first = a_run()
        for attempt in (1, 2):
            call(peer, "/fine", Run(first.execution_id, attempt, first.tenant_id))

        assert len({one.headers["webhook-id"] for one in peer.heard[-2:]}) == 1

    def test_a_request_without_a_body_is_signed_too(self, peer) -> None:
        call(peer, "/fine", method="GET", signing_secret=SECRET)

        heard = peer.heard[-1]
        Webhook(SECRET).verify(heard.body, heard.headers, json_parse=False)

    def test_the_secret_is_not_shown_by_the_payload(self) -> None:
        payload = HttpCall(url="https://example.com", signing_secret=SECRET)

        assert SECRET not in repr(payload) and SECRET not in payload.model_dump_json()


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"url": "ftp://example.com"}, "url", "https://"),
        ({"url": "http://localhost/"}, "url", "HTTP_ALLOWED_HOSTS"),
        ({"url": "http://example.com:25/"}, "url", "HTTP_PORTS"),
        ({"url": 5}, "url", "string"),
        ({"method": "TRACE"}, "method", "'GET'"),
        ({"method": "CONNECT"}, "method", "'GET'"),
        ({"method": "GET", "body": "x"}, "body", "no body"),
        ({"headers": {"Host": "evil"}}, "headers", "set by Punctual"),
        ({"headers": {"content-length": "5"}}, "headers", "set by Punctual"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "headers", "set by Punctual"),
        ({"headers": {"webhook-signature": "v1,x"}}, "headers", "set by Punctual"),
        ({"headers": {"Proxy-Authorization": "x"}}, "headers", "set by Punctual"),
        ({"headers": {"X-A\r\nHost": "evil"}}, "headers", "no name"),
        ({"headers": {"X A": "b"}}, "headers", "no name"),
        ({"headers": {"": "b"}}, "headers", "no name"),
        ({"headers": {"X-A": "b\r\nHost: evil"}}, "headers", "one line"),
        ({"headers": {"X-A": "b\x00"}}, "headers", "one line"),
        ({"headers": {"X-A": "é"}}, "headers", "ASCII"),
        ({"headers": {"X-A": "b", "x-a": "c"}}, "headers", "twice"),
        ({"headers": {f"X-{n}": "" for n in range(51)}}, "headers", "50"),
        ({"expected": []}, "expected", "at least 1"),
        ({"expected": [99]}, "expected.0", "200 to 599"),
        ({"expected": ["6xx"]}, "expected.0", "200 to 599"),
        ({"timeout": 0}, "timeout", "0.1"),
        ({"timeout": 301}, "timeout", "300"),
        ({"signing_secret": "hunter2"}, "signing_secret", "whsec_"),
        ({"signing_secret": "whsec_YWJj"}, "signing_secret", "24 to 64"),
        ({"folow": True}, "folow", "Allowed: url, method"),
    ],
)
def test_a_bad_payload_is_refused_with_the_field_and_the_remedy(change, field, says) -> None:
    with pytest.raises(InvalidPayload) as raised:
        registry.get("http_request").read({"url": "https://example.com/"} | change)

    assert any(name.startswith(field) and says in told for name, told in raised.value.errors.items())


def test_what_is_not_allowed_any_more_when_it_runs_is_given_up(settings, peer) -> None:
    payload = registry.get("http_request").read({"url": peer.url("/fine")})
    settings.HTTP_ALLOWED_HOSTS = ()
    before = peer.connections

    with pytest.raises(GiveUpNow, match="loopback"):
        http_request(payload, a_run())

    assert peer.connections == before


def test_proxies_of_the_environment_are_not_used(peer, monkeypatch) -> None:
    proxy = MisbehavingServer()
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")

    assert call(peer, "/fine")["status"] == 200
    assert proxy.connections == 0
    proxy.stop()
