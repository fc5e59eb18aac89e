"""Whoever is spoken to over https has shown that the name is theirs."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from execution.outbound import Answer, Deadline, NoAnswer, Request, exchange, guard_of, read_url
from tests.misbehaving import MisbehavingServer

NAME = "secure.example.com"
DAY = timedelta(days=1)


class Authority:
    """Signs certificates, as the real ones do, and nobody knows it but the tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "The tests' own authority")])
        own = self._builder(self._name, self._key, until=datetime.now(UTC) + DAY).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        own = own.add_extension(_may_sign(), critical=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def server_context(self, name: str, *, until: datetime | None = None) -> ssl.SSLContext:
        """What a server needs to speak for `name`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = [x509.DNSName(name)]
        certificate = (
            self._builder(subject, key, until=until or datetime.now(UTC) + DAY)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file = self._folder / "server.pem"
        file.write_bytes(certificate.public_bytes(pem) + key.private_bytes(pem, *plain))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, until: datetime):
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - 10 * DAY)
            .not_valid_after(until)
            # Python 3.13 and later ask for what RFC 5280 does.
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )


def _may_sign() -> x509.KeyUsage:
    unused = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    rest = dict.fromkeys((*unused, "digital_signature", "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(key_cert_sign=True, crl_sign=True, **rest)


@pytest.fixture
def authority(tmp_path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def serve() -> Iterator:
    servers = []

    def start(secured: ssl.SSLContext | None) -> MisbehavingServer:
        servers.append(MisbehavingServer(secured=secured))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def ask(server: MisbehavingServer, ca_file: Path | str = "", path: str = "/fine", host: str = NAME) -> Answer:
    request = Request("POST", read_url(f"https://{host}:{server.port}{path}"), {}, b"{}")
    guard = guard_of(("127.0.0.0/8",), ("443",))
    return exchange(
        request, guard, Deadline(60), keep=1000, ca_file=str(ca_file), resolve=lambda host, port: ["127.0.0.1"]
    )


def test_the_certificate_is_checked_against_the_name_though_we_connect_to_an_address(serve, authority) -> None:
    server = serve(authority.server_context(NAME))

    answer = ask(server, authority.file)

    assert answer.body == "Grüße".encode()
    assert server.heard[-1].headers["host"] == f"{NAME}:{server.port}"


def test_a_certificate_for_another_name_is_not_accepted(serve, authority) -> None:
    server = serve(authority.server_context("other.example.com"))

    with pytest.raises(NoAnswer, match="Hostname mismatch"):
        ask(server, authority.file)
    assert server.heard == []


def test_an_authority_that_nobody_knows_is_not_accepted(serve, authority) -> None:
    server = serve(authority.server_context(NAME))

    with pytest.raises(NoAnswer, match="CERTIFICATE_VERIFY_FAILED"):
        ask(server)
    assert server.heard == []


def test_a_certificate_that_has_expired_is_not_accepted(serve, authority) -> None:
    server = serve(authority.server_context(NAME, until=datetime.now(UTC) - DAY))

    with pytest.raises(NoAnswer, match="expired"):
        ask(server, authority.file)


def test_a_server_without_tls_is_no_https(serve, authority) -> None:
    with pytest.raises(NoAnswer, match="No connection"):
        ask(serve(None), authority.file)


def test_limits_hold_for_encrypted_answers_too(serve, authority) -> None:
    answer = ask(serve(authority.server_context(NAME)), authority.file, "/endless-body")

    assert answer.truncated and answer.body == b"x" * 1000
