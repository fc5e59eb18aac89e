"""Mails over a real server: many in one connection, and what it says of each is told apart."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from time import thread_time
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.backends.smtp import EmailBackend
from django.utils import timezone

from accounts.models import Tenant
from execution.destinations import MustWait, tells_of_outage
from execution.handlers.send_email import send_email
from execution.mail.meter import MAX_WORK, Meter
from execution.mail.post import NotDelivered
from execution.registry import InvalidPayload, Run, registry
from execution.retry import GiveUpNow
from execution.run import Seat
from execution.uploads import save_upload
from execution.voice import Bounds, Voice
from scheduler_project.env import env_email
from tests.whole.mailserver import MailServer, taking_mail
from tests.whole.processes import free_port

pytestmark = pytest.mark.django_db

HELLO = {"to": "ada@example.com", "subject": "Hello", "body": "There"}


@pytest.fixture
def server(settings) -> Iterator[MailServer]:
    with taking_mail(settings) as server:
        yield server


class Heard(Seat):
    __slots__ = ("last", "lines")

    def __init__(self, *, last: bool = False) -> None:
        super().__init__()
        self.last = last
        self.lines: list[str] = []

    def is_last(self) -> bool:
        return self.last

    def speak(self) -> Voice:
        self.voice = Voice(lambda words: self.lines.append(words.text), timezone.now, Bounds(9, 9999))
        return self.voice


def send(*payloads: dict[str, Any], tenant=None, last: bool = False, seat: Seat | None = None) -> list[Any]:
    read = registry.get("send_email").read
    runs = [Run(uuid4(), 1, tenant or uuid4(), seat or Heard(last=last)) for _ in payloads]
    return list(send_email([read(payload) for payload in payloads], runs))


def refused(payload: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidPayload) as error:
        registry.get("send_email").read(HELLO | payload)
    return error.value.errors


def test_a_hundred_mails_take_one_connection(server) -> None:
    answers = send(*(HELLO | {"to": f"reader{number}@example.com"} for number in range(100)))

    assert [answer["recipients"] for answer in answers] == [[f"reader{n}@example.com"] for n in range(100)]
    assert len(server.inbox) == 100 and server.connections == 1


def test_everything_a_mail_can_have_arrives(server) -> None:
    payload = HELLO | {
        "to": ["ada@example.com", "bob@example.com"],
        "cc": "carol@example.com",
        "bcc": ["dan@example.com"],
        "reply_to": "answers@example.com",
        "from_name": "Ünïcode, Inc.",
        "html": "<b>There</b>",
        "headers": {"list-unsubscribe": "<https://example.com/off>"},
        "attachments": [
            {"name": "notes.txt", "content": b64encode("Größe".encode()).decode()},
            {"name": "résumé.bin", "content": "AAEC", "content_type": "application/x-thing"},
        ],
    }

    [answer] = send(payload)

    [received], [envelope] = server.inbox, server.envelopes
    assert answer == {"recipients": ["ada@example.com", "bob@example.com", "carol@example.com", "dan@example.com"]}
    assert envelope == answer["recipients"]
    assert received["To"] == "ada@example.com, bob@example.com" and received["Cc"] == "carol@example.com"
    assert "dan@example.com" not in received.as_string(), "a blind copy is for nobody's eyes"
    assert received["Reply-To"] == "answers@example.com"
    assert received["From"] == '"Ünïcode, Inc." <punctual@localhost>'
    assert received["List-Unsubscribe"] == "<https://example.com/off>"
    assert received["Message-ID"] == f"<{received['X-Idempotency-Key']}@localhost>"
    assert received.get_body(("plain",)).get_content().strip() == "There"
    assert received.get_body(("html",)).get_content().strip() == "<b>There</b>"
    notes, binary = received.iter_attachments()
    assert (notes.get_filename(), notes.get_content().strip()) == ("notes.txt", "Größe")
    assert (binary.get_filename(), binary.get_content_type()) == ("résumé.bin", "application/x-thing")
    assert binary.get_content() == b"\x00\x01\x02"


def test_templates_are_filled_in_and_escaped_where_it_is_html(server) -> None:
    send(
        HELLO
        | {
            "subject": "{{ count }} thing{{ count|pluralize }} & more",
            "body": "{% for item in items %}{{ item.name }}: {{ item.price|floatformat:2 }}\n{% endfor %}",
            "html": "<ul>{% for item in items %}<li>{{ item.name }}</li>{% endfor %}</ul>",
            "context": {"count": 2, "items": [{"name": "<Tea>", "price": 1.5}, {"name": "Cup", "price": 2}]},
        }
    )

    [received] = server.inbox
    assert received["Subject"] == "2 things & more"
    assert received.get_body(("plain",)).get_content().split() == ["<Tea>:", "1.50", "Cup:", "2.00"]
    assert received.get_body(("html",)).get_content().strip() == "<ul><li>&lt;Tea&gt;</li><li>Cup</li></ul>"


HEAVY = HELLO | {"body": "{% for a in text %}{{ a }}{% endfor %}", "context": {"text": "x" * 30_000}}


def test_one_tenants_templates_take_a_share_of_a_batch_and_the_other_mails_in_it_are_sent(server, monkeypatch) -> None:
    meters: list[Meter] = []
    monkeypatch.setattr("execution.handlers.send_email.Meter", lambda: meters.append(Meter()) or meters[-1])
    read, one, other = registry.get("send_email").read, uuid4(), uuid4()
    batch = [(HEAVY, one)] * 20 + [(HELLO | {"context": {}}, other), (HELLO, one)]

    answers = list(
        send_email([read(payload) for payload, _ in batch], [Run(uuid4(), 1, tenant, Heard()) for _, tenant in batch])
    )

    waiting = [answer for answer in answers if isinstance(answer, MustWait)]
    assert isinstance(answers[0], dict) and isinstance(answers[-1], dict) and isinstance(answers[-2], dict)
    assert len(waiting) > 10 and waiting == answers[20 - len(waiting) : 20], "uncounted, and tried again in a moment"
    assert all(timezone.now() < one.at + timedelta(minutes=1) and one.found is None for one in waiting)
    assert sum(meter.work for meter in meters) < 2 * MAX_WORK


@pytest.mark.parametrize("other_waits", [True, False])
def test_one_tenants_attachments_take_a_share_of_a_batch_while_others_wait(server, monkeypatch, other_waits) -> None:
    monkeypatch.setattr("execution.mail.letters._uploaded", lambda *_: b"x" * 2_000_000)
    large = HELLO | {"attachments": [{"name": "large.bin", "upload": "large"}]}
    read, one, other = registry.get("send_email").read, uuid4(), uuid4()
    batch = [(large, one)] * 8
    batch.insert(len(batch) if other_waits else 0, (HELLO, other))

    answers = list(
        send_email([read(payload) for payload, _ in batch], [Run(uuid4(), 1, tenant, Heard()) for _, tenant in batch])
    )

    waiting = [answer for answer in answers if isinstance(answer, MustWait)]
    assert len(waiting) == (5 if other_waits else 0), "with nobody behind them, they are all sent"
    assert len(server.inbox) == len(batch) - len(waiting)


def test_a_batch_of_one_tenant_is_not_shared(server) -> None:
    answers = send(*[HEAVY] * 4, tenant=uuid4())

    assert all(isinstance(answer, dict) for answer in answers)


@pytest.mark.parametrize("marks", ["{#", "{%", "{{"])
def test_a_template_of_nothing_but_beginnings_delays_nobody(server, marks) -> None:
    began = thread_time()

    send(HELLO | {"body": marks * 99_000, "html": marks * 99_000, "context": {}})

    assert thread_time() - began < 5, "it took minutes, in which nothing else of the process went on"
    assert len(server.inbox) == 1


def test_braces_without_a_context_are_just_braces(server) -> None:
    send(HELLO | {"body": "{{ this }} {% is %} text"})

    assert server.inbox[0].get_content().strip() == "{{ this }} {% is %} text"


def test_a_subject_that_a_value_breaks_in_two_is_not_sent(server) -> None:
    [answer] = send(HELLO | {"subject": "Hi {{ name }}", "context": {"name": "Ada\r\nBcc: eve@example.com"}})

    assert isinstance(answer, GiveUpNow) and "single line" in str(answer)
    assert server.inbox == []


def test_permanent_and_passing_refusals_are_told_apart_mail_by_mail(server) -> None:
    server.answers = {"gone@example.com": ["550 No such user"], "busy@example.com": ["450 Mailbox busy"]}
    server.after_data = {"spam@example.com": ["554 Looks like spam"], "full@example.com": ["452 Disk full"]}
    names = ["first", "gone", "busy", "spam", "full", "last"]

    answers = dict(zip(names, send(*(HELLO | {"to": f"{name}@example.com"} for name in names)), strict=True))

    assert answers["first"]["recipients"] and answers["last"]["recipients"]
    assert isinstance(answers["gone"], GiveUpNow) and "550 No such user" in str(answers["gone"])
    assert isinstance(answers["spam"], GiveUpNow) and "554 Looks like spam" in str(answers["spam"])
    assert isinstance(answers["busy"], NotDelivered) and "450 Mailbox busy" in str(answers["busy"])
    assert isinstance(answers["full"], NotDelivered) and "452 Disk full" in str(answers["full"])
    assert server.connections == 1 and len(server.inbox) == 2


def test_a_recipient_that_never_will_get_it_does_not_keep_it_from_the_others(server) -> None:
    server.answers = {"gone@example.com": ["550 No such user"]}
    seat = Heard()

    [answer] = send(HELLO | {"to": ["ada@example.com", "gone@example.com"]}, seat=seat)

    assert answer == {"recipients": ["ada@example.com"], "refused": {"gone@example.com": "550 No such user"}}
    assert server.envelopes == [["ada@example.com"]]
    assert seat.lines == ["gone@example.com was refused: 550 No such user"]


def test_nobody_gets_it_twice_because_another_gets_it_later(server) -> None:
    server.answers = {"busy@example.com": ["450 Greylisted"]}
    payload = HELLO | {"to": ["ada@example.com", "busy@example.com"]}

    [first] = send(payload)
    [second] = send(payload)

    assert isinstance(first, NotDelivered)
    assert second == {"recipients": ["ada@example.com", "busy@example.com"]}
    assert server.envelopes == [["ada@example.com", "busy@example.com"]]


def test_the_last_attempt_takes_whoever_can_be_had(server) -> None:
    server.answers = {"busy@example.com": ["450 Still greylisted"]}

    [answer] = send(HELLO | {"to": ["ada@example.com", "busy@example.com"]}, last=True)

    assert answer == {"recipients": ["ada@example.com"], "refused": {"busy@example.com": "450 Still greylisted"}}


@pytest.mark.parametrize("answer", ["drop", "421 Closing"])
def test_a_connection_lost_midway_costs_one_mail_and_the_next_has_a_new_one(server, answer) -> None:
    server.after_data = {"unlucky@example.com": [answer]}
    names = ["first", "unlucky", "last"]

    first, unlucky, last = send(*(HELLO | {"to": f"{name}@example.com"} for name in names))

    assert first["recipients"] and last["recipients"]
    assert isinstance(unlucky, NotDelivered)
    assert len(server.inbox) == 2


@pytest.mark.parametrize("closing", ["drop", "421 Too many errors"])
def test_a_mail_to_too_many_wrong_addresses_does_not_make_the_server_look_down(server, closing) -> None:
    server.answers = {"gone@example.com": ["550 No such user"], "more@example.com": [closing]}
    wrong = ["gone@example.com", "more@example.com", "most@example.com"]

    answers = send(HELLO | {"to": wrong}, HELLO | {"to": "ada@example.com"})

    assert isinstance(answers[0], NotDelivered) and not tells_of_outage(answers[0])
    assert answers[1]["recipients"]
    server.answers = {"ada@example.com": ["drop"]}
    [hung_up] = send(HELLO | {"to": ["ada@example.com", "bob@example.com"]})
    assert tells_of_outage(hung_up)


def test_a_server_that_is_away_is_asked_once_for_all(settings, monkeypatch) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    asked, open_ = [], EmailBackend.open
    monkeypatch.setattr(EmailBackend, "open", lambda self: asked.append(self) or open_(self))

    answers = send(*[HELLO] * 50)

    assert all(isinstance(answer, NotDelivered) for answer in answers) and len(asked) == 1
    assert "cannot be used" in str(answers[0])


def test_a_wrong_password_gives_nobodys_mail_up(server, settings) -> None:
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "ada", "wrong"

    [answer] = send(HELLO)

    assert isinstance(answer, NotDelivered)


def test_a_cancelled_mail_is_not_sent_and_its_neighbours_are(server) -> None:
    read, seats = registry.get("send_email").read, [Heard(), Heard()]
    seats[0].to_end = True

    first, second = send_email([read(HELLO)] * 2, [Run(uuid4(), 1, uuid4(), seat) for seat in seats])

    assert isinstance(first, BaseException) and second["recipients"]
    assert len(server.inbox) == 1


@pytest.mark.parametrize("sender", ["shop@example.com", "Shop@Example.com", "anyone@example.org"])
def test_a_tenant_sends_from_its_own_addresses(server, sender) -> None:
    tenant = Tenant.objects.create(name="Shop", senders=["shop@example.com", "@example.org"])

    [answer] = send(HELLO | {"from": sender, "from_name": "The Shop"}, tenant=tenant.pk)

    assert answer["recipients"]
    assert server.inbox[0]["From"].lower() == f"the shop <{sender.lower()}>"


@pytest.mark.parametrize("sender", ["ceo@example.com", "shop@example.com.evil.com", "a@sub.example.org", "x@b.org"])
def test_a_tenant_sends_from_nobody_elses(server, sender) -> None:
    tenant = Tenant.objects.create(name="Shop", senders=["shop@example.com", "@example.org"])
    Tenant.objects.create(name="Other", senders=[sender])

    [answer] = send(HELLO | {"from": sender}, tenant=tenant.pk)

    assert isinstance(answer, GiveUpNow) and "may not send from" in str(answer)
    assert server.inbox == []


def test_an_upload_is_attached_for_its_own_tenant_only(server) -> None:
    ours, theirs = (Tenant.objects.create(name=name) for name in ("Ours", "Theirs"))
    name = save_upload(ours.pk, b"numbers")
    payload = HELLO | {"attachments": [{"name": "report.csv", "upload": name}]}

    [sent] = send(payload, tenant=ours.pk)
    [stolen] = send(payload, tenant=theirs.pk)
    [climbed] = send(HELLO | {"attachments": [{"name": "x", "upload": "../../etc/passwd"}]}, tenant=ours.pk)

    assert sent["recipients"]
    [attached] = server.inbox[0].iter_attachments()
    content = attached.get_payload(decode=True)
    assert (attached.get_filename(), content.splitlines()) == (
        "report.csv",
        [b"numbers"],
    )  # Django 6 ends the last line
    assert isinstance(stolen, GiveUpNow) and isinstance(climbed, GiveUpNow)


def test_attachments_have_a_bound_together(server, settings) -> None:
    settings.EMAIL_ATTACHMENT_BYTES = 10
    file = {"name": "x.bin", "content": b64encode(b"x" * 6).decode()}

    [fits], [too_much] = send(HELLO | {"attachments": [file]}), send(HELLO | {"attachments": [file, file]})

    assert fits["recipients"] and isinstance(too_much, GiveUpNow)


BREAKS = ["\r\n", "\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x00"]


@pytest.mark.parametrize("line_break", BREAKS)
@pytest.mark.parametrize("field", ["subject", "from_name", "headers"])
def test_no_text_in_a_header_starts_another(field, line_break) -> None:
    text = f"Hi{line_break}Bcc: eve@example.com"

    [where] = refused({field: {"List-Id": text} if field == "headers" else text})

    assert where.startswith(field)


@pytest.mark.parametrize("field", ["to", "cc", "bcc", "reply_to", "from"])
@pytest.mark.parametrize(
    "address", ["a@b.com\nBcc: eve@example.com", "a@b.com, eve@example.com", "a@b.com\r\n", "<a@b.com>\x00", "nobody"]
)
def test_no_address_is_more_than_one(field, address) -> None:
    [where] = refused({field: address})

    assert where.startswith(field)


@pytest.mark.parametrize(
    "name",
    [
        "Bcc", "bcc", "To", "Cc", "From", "Sender", "Reply-To", "Subject", "Return-Path", "Received", "Message-ID",
        "Content-Type", "MIME-Version", "DKIM-Signature", "X-SMTPAPI", "X-MC-Metadata", "X-Idempotency-Key",
        "List-Id\r\nBcc: eve@example.com\r\nX", "List-Id:", " List-Id", "",
    ],
)  # fmt: skip
def test_header_names_are_of_a_list(name) -> None:
    [(where, message)] = refused({"headers": {name: "x"}}).items()

    assert where == "headers" and "may not be set. Allowed: Auto-Submitted" in message


def test_a_provider_that_needs_another_header_can_have_it(settings, server) -> None:
    settings.EMAIL_HEADERS = ["X-Tag"]

    send(HELLO | {"headers": {"x-tag": "welcome"}})

    assert server.inbox[0]["X-Tag"] == "welcome"


@pytest.mark.parametrize(
    "attachment",
    [
        {"name": "a.txt"},
        {"name": "a.txt", "content": "AA==", "upload": "x"},
        {"name": "a.txt", "content": "not base64!"},
        {"name": "../a.txt", "content": ""},
        {"name": "a\r\nX: y", "content": ""},
        {"name": 'a"b', "content": ""},
        {"name": "..", "content": ""},
        {"name": "", "content": ""},
        {"name": "a", "content": "", "content_type": "text/plain\r\nX: y"},
        {"name": "a", "content": "", "content_type": "message/rfc822"},
        {"name": "a", "content": "", "content_type": "text/html; charset=x"},
        {"name": "a", "upload": "x\ny"},
        {"name": "a", "content": "", "path": "/etc/passwd"},
    ],
)
def test_an_attachment_is_a_plain_file(attachment) -> None:
    assert all(where.startswith("attachments.0") for where in refused({"attachments": [attachment]}))


def test_a_mail_goes_to_a_hundred_at_most() -> None:
    many = [f"reader{number}@example.com" for number in range(60)]

    assert "120 recipients" in refused({"to": many, "bcc": many})[""]


def test_a_typo_names_the_fields_as_one_writes_them() -> None:
    assert "bcc, reply_to, from, from_name" in refused({"form": "x@example.com"})["form"]


def test_mails_go_through_a_provider_of_anymail(settings, monkeypatch) -> None:
    pytest.importorskip("anymail")
    from anymail.exceptions import AnymailAPIError
    from anymail.message import AnymailRecipientStatus
    from requests import Response

    monkeypatch.setenv("EMAIL_URL", "anymail+test://?api_key=secret&region=eu")
    configured = env_email("EMAIL_URL")
    assert configured["ANYMAIL"] == {"TEST_API_KEY": "secret", "TEST_REGION": "eu"}
    settings.EMAIL_BACKEND = configured["EMAIL_BACKEND"]
    mail.outbox = []

    [sent] = send(HELLO | {"cc": "carol@example.com"})
    assert sent == {"recipients": ["ada@example.com", "carol@example.com"]}
    assert mail.outbox[0].anymail_test_params["cc"][0].addr_spec == "carol@example.com"

    monkeypatch.setattr(
        "django.core.mail.EmailMultiAlternatives.anymail_test_response",
        {"recipient_status": {"ada@example.com": AnymailRecipientStatus("1", "rejected")}},
        raising=False,
    )
    [rejected] = send(HELLO)
    assert isinstance(rejected, GiveUpNow) and "rejected" in str(rejected)

    for status, kind in [(400, GiveUpNow), (503, AnymailAPIError)]:
        said = Response()
        said.status_code, said.reason = status, "told"
        error = AnymailAPIError("no", response=said, status_code=status)
        monkeypatch.setattr("django.core.mail.EmailMultiAlternatives.anymail_test_response", error, raising=False)
        [failed] = send(HELLO)
        assert isinstance(failed, kind), "what may pass is tried again"


@pytest.mark.parametrize("url", ["anymail+nobody://", "anymail+../x://", "anymail://"])
def test_a_provider_that_nobody_knows_is_told_at_once(monkeypatch, url) -> None:
    monkeypatch.setenv("EMAIL_URL", url)

    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        env_email("EMAIL_URL")


def test_a_server_is_named_as_before(monkeypatch) -> None:
    monkeypatch.setenv("EMAIL_URL", "smtp+tls://ada:secret@mail.example.com:587")

    configured = env_email("EMAIL_URL")

    assert configured["EMAIL_HOST"] == "mail.example.com" and configured["EMAIL_USE_TLS"]
