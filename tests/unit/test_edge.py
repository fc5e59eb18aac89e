"""What is held for whom, whose turn it is, and what becomes of headers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from io import BytesIO
from threading import Event

import pytest
from django.conf import settings as configured

from accounts.addresses import address_in
from scheduler_project.edge.answers import PIECE, Answer, Answers, answer_of
from scheduler_project.edge.application import Probes
from scheduler_project.edge.bodies import Bodies
from scheduler_project.edge.environ import MAX_BYTES, environ_of
from scheduler_project.edge.holding import Holder, Holding
from scheduler_project.edge.refusals import DROPPED, SLOW_READER, Refusal, Refused
from scheduler_project.edge.threads import Threads


def scope(*headers: tuple[bytes, bytes], path: bytes = b"/") -> dict:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path.decode(errors="replace"),
        "raw_path": path,
        "query_string": b"a=%C3%BC",
        "headers": list(headers),
        "client": ("192.0.2.1", "1234"),
        "server": ("127.0.0.1", "8000"),
    }


@pytest.mark.parametrize(
    "name", [b"x_forwarded_for", b"x_forwarded-for", b"x-forwarded_proto", b"content_length", b"host_"]
)
def test_a_header_with_an_underscore_does_not_reach_the_application(name) -> None:
    assert environ_of(scope((name, b"203.0.113.9"))) == environ_of(scope())


def test_headers_given_several_times_are_joined_as_each_is_read() -> None:
    environ = environ_of(scope((b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"accept", b"x"), (b"accept", b"y")))

    assert (environ["HTTP_COOKIE"], environ["HTTP_ACCEPT"]) == ("a=1; b=2", "x,y")


def test_a_header_that_is_too_long_in_all_its_lines_is_refused() -> None:
    line = b"x" * (MAX_BYTES // 2)

    environ_of(scope((b"cookie", line), (b"accept", line)))
    with pytest.raises(Refused) as refused:
        environ_of(scope((b"cookie", line), (b"cookie", line)))
    assert refused.value.status == 431 and "cookie" in refused.value.detail


def test_a_url_that_is_too_long_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        environ_of(scope(path=b"/" + b"x" * MAX_BYTES))
    assert refused.value.status == 414


def test_a_path_reaches_the_application_with_each_of_its_bytes() -> None:
    environ = environ_of(scope(path=b"/a%2Fb/%C3%BC/%FF"))

    assert environ["PATH_INFO"].encode("latin-1") == b"/a/b/\xc3\xbc/\xff"
    assert environ["QUERY_STRING"] == "a=%C3%BC"


@pytest.mark.parametrize("forwarded", ["nonsense", "", " ", "1.2.3.4.5", "unknown", "203.0.113.9, ", "-"])
def test_where_a_proxy_names_no_address_its_own_counts(settings, forwarded) -> None:
    settings.TRUSTED_PROXIES = 1

    assert address_in({"REMOTE_ADDR": "192.0.2.1", "HTTP_X_FORWARDED_FOR": forwarded}) == "192.0.2.1"


def test_the_address_that_holds_most_loses_its_oldest_transfer() -> None:
    holding, lost = Holding(100), []
    first, second, other = (
        Holder(address, drop=lambda name=name: lost.append(name))
        for name, address in [("first", "a"), ("second", "a"), ("other", "b")]
    )
    for holder, size in [(first, 30), (second, 40), (other, 30)]:
        holding.grow(holder, size)
    assert lost == []

    holding.grow(other, 1)

    assert (lost, first.dropped, holding.total) == (["first"], True, 71)


def test_what_is_being_answered_is_kept_and_the_newcomer_gives_way() -> None:
    holding, lost = Holding(100), []
    answered = Holder("a", drop=lambda: lost.append("answered"))
    holding.grow(answered, 100)
    answered.drop = None
    newcomer = Holder("b", drop=lambda: lost.append("newcomer"))

    holding.grow(newcomer, 1)

    assert (lost, holding.total) == (["newcomer"], 100)


def test_what_is_held_is_all_given_back() -> None:
    holding = Holding(100)
    holders = [Holder("a", drop=lambda: None) for _ in range(10)]
    for holder in holders:
        holding.grow(holder, 20)
    for holder in [*holders, *holders]:
        holding.release(holder)

    assert holding.total == 0


def chunks(*bodies: bytes, then: dict | None = None):
    messages = [{"type": "http.request", "body": body, "more_body": True} for body in bodies]
    messages.append(then or {"type": "http.request", "body": b"", "more_body": False})
    left = iter(messages)

    async def receive() -> dict:
        return next(left)

    return receive


def bodies(holding: Holding, **options) -> Bodies:
    return Bodies(holding, **{"patience": 60, "rate": 1000, "per_address": 10} | options)


def test_a_body_is_whole_and_accounted_for_until_it_is_closed() -> None:
    holding = Holding(1000)

    body = asyncio.run(bodies(holding).receive(chunks(b"ab", b"", b"cd"), "a", 10))

    assert (body.file.read(), body.size, holding.total) == (b"abcd", 4, 4)
    body.close()
    assert holding.total == 0


@pytest.mark.parametrize(
    ("receive", "error"),
    [
        (chunks(b"ab", b"c" * 9), Refused),
        (chunks(b"ab", then={"type": "http.disconnect"}), Refused),
    ],
    ids=["too large", "broken off"],
)
def test_nothing_is_held_of_a_body_that_is_not_taken(receive, error) -> None:
    holding = Holding(1000)

    with pytest.raises(error):
        asyncio.run(bodies(holding).receive(receive, "a", 10))

    assert holding.total == 0


def test_a_body_that_never_arrives_is_refused_when_its_time_is_over() -> None:
    with pytest.raises(Refused) as refused:
        asyncio.run(bodies(Holding(1000), patience=0.01).receive(lambda: asyncio.sleep(3600), "a", 10))

    assert refused.value.why is Refusal.TOO_SLOW


def test_a_body_whose_time_is_over_is_dropped_for_another_without_an_error() -> None:
    async def ask() -> tuple[int, int, Refusal]:
        holding = Holding(100)
        first = iter([{"type": "http.request", "body": b"x" * 60, "more_body": True}])

        async def receive() -> dict:
            return next(first, None) or await asyncio.sleep(3600)

        slow = asyncio.create_task(bodies(holding, patience=0.01, rate=10**9).receive(receive, "a", 100))
        await asyncio.sleep(0)
        newcomer = Holder("b", drop=lambda: None)
        asyncio.get_running_loop().call_later(0.02, holding.grow, newcomer, 60)
        time.sleep(0.1)  # so that both happen in one turn of the loop: first the body's time ends
        with pytest.raises(Refused) as refused:
            await slow
        return holding.total, newcomer.bytes, refused.value.why

    failed: list[dict] = []
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda loop, context: failed.append(context))
        told = runner.run(ask())

    assert failed == []
    assert told == (60, 60, Refusal.NO_MEMORY)


def test_an_answer_that_does_not_fit_is_dropped_and_counted() -> None:
    sent, holding, before = [], Holding(PIECE), DROPPED.labels(SLOW_READER)._value.get()

    async def send(message: dict) -> None:
        sent.append(message["type"])

    answer = Answer(200, [], BytesIO(b"x" * (PIECE + 1)), PIECE + 1)
    asyncio.run(Answers(holding, patience=60, rate=1000).send(send, answer, "a"))

    assert sent == ["http.response.start"] and answer.body.closed
    assert (holding.total, DROPPED.labels(SLOW_READER)._value.get()) == (0, before + 1)


def test_one_address_has_only_so_many_bodies_under_way_and_others_have_theirs() -> None:
    async def ask() -> list[str]:
        taken = bodies(Holding(1000), per_address=2)
        waiting = [asyncio.create_task(taken.receive(asyncio.Event().wait, "a", 10)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await taken.receive(chunks(b"x"), "a", 10)
        (await taken.receive(chunks(b"x"), "b", 10)).close()
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        (await taken.receive(chunks(b"x"), "a", 10)).close()
        return refused.value.why

    assert asyncio.run(ask()) is Refusal.TOO_MANY_BODIES


def answered_in_order(asked: list[str], *, max_waiting: int) -> tuple[list[str], list[str]]:
    """Who is answered, in which order, by one thread that is busy while all of them ask; and who is refused."""
    answered, refused, free = [], [], Event()

    async def ask(threads: Threads, address: str) -> None:
        try:
            await threads.run(address, lambda: answered.append(address))
        except Refused:
            refused.append(address)

    async def all_ask() -> None:
        threads = Threads(1, max_waiting)
        busy = asyncio.create_task(threads.run("first", free.wait))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(ask(threads, address)) for address in asked]
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(busy, *waiting)

    asyncio.run(all_ask())
    return answered, refused


def test_addresses_take_turns_however_many_requests_each_has() -> None:
    answered, refused = answered_in_order([*"aaaab", "c"], max_waiting=10)

    assert (answered, refused) == ([*"abcaaa"], [])


def test_a_full_queue_refuses_the_address_that_fills_it() -> None:
    answered, refused = answered_in_order([*"aaaa", "b"], max_waiting=3)

    assert (sorted(answered), refused) == ([*"aab"], ["a", "a"])


def test_an_error_of_the_application_reaches_who_asked_and_the_thread_works_on() -> None:
    async def ask() -> int:
        threads = Threads(1, 1)
        with pytest.raises(ZeroDivisionError):
            await threads.run("a", lambda: 1 // 0)
        return await threads.run("a", lambda: 7)

    assert asyncio.run(ask()) == 7


class Chunks:
    closed = False

    def __iter__(self):
        yield from (b"one ", b"two")

    def close(self) -> None:
        self.closed = True


def test_an_answer_is_gathered_and_closed_before_it_is_sent() -> None:
    told = Chunks()

    def application(environ, start_response):
        write = start_response("200 OK", [("X-Thing", "ü")])
        write(b"zero ")
        return told

    answer = answer_of(application, {})

    assert told.closed and answer.body.read() == b"zero one two"
    assert (answer.status, answer.headers) == (200, [(b"x-thing", b"\xfc"), (b"content-length", b"12")])


def test_an_answer_that_fails_half_way_is_closed_and_raised() -> None:
    class Failing(Chunks):
        def __iter__(self):
            yield b"half"
            raise OSError

    told = Failing()

    def application(environ, start_response):
        start_response("200 OK", [])
        return told

    with pytest.raises(OSError):
        answer_of(application, {})
    assert told.closed


def test_probes_that_share_an_answer_each_get_all_of_it() -> None:
    asked, go = [], Event()

    def application(environ, start_response):
        asked.append(environ)
        go.wait(10)
        start_response("200 OK", [])
        return [b"ready"]

    async def body(probes: Probes) -> bytes:
        answer = await probes.ask({"PATH_INFO": "/readyz"})
        with answer.body:
            return answer.body.read()

    async def several() -> list[bytes]:
        probes = Probes(application)
        waiting = [asyncio.create_task(body(probes)) for _ in range(3)]
        await asyncio.sleep(0)
        go.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(several()) == [b"ready"] * 3 and len(asked) == 1


def test_the_event_loop_waits_ten_times_shorter_for_threads_that_compute_than_by_default() -> None:
    told = "import sys, scheduler_project.asgi; print(sys.getswitchinterval())"

    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=configured.BASE_DIR
    )

    assert float(done.stdout.splitlines()[-1]) <= 0.0005


@pytest.mark.parametrize("path", ["/api/v1/auth/token", "/sign-in", "/register", "/reset-password", "/admin/login/"])
def test_bodies_that_need_no_account_are_short(path) -> None:
    told = f"from scheduler_project.asgi import max_body; print(max_body({path!r}), max_body('/api/v1/jobs'))"

    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=configured.BASE_DIR
    )

    assert done.stdout.splitlines()[-1].split() == ["16384", str(configured.MAX_BODY_BYTES)]
