"""Delivers notices, and tries again what could not be. Any number may run.

A try is taken by a guarded UPDATE before it is made: two couriers never make the same one. One that dies in the middle
leaves a row whose time comes again, so that a notice may arrive twice, with the same idempotency key, and never not
at all. One whose database is away for a moment does not: it keeps how the try has ended until it can be written.
"""

from __future__ import annotations

import random
from collections import Counter as Numbers
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta

import structlog
from django.db import InterfaceError, OperationalError
from prometheus_client import Counter

from accounts import mail_rates
from accounts.mail_rights import UNVERIFIED, MailRights, mail_rights
from execution.retry import GiveUp, RetryAt, decide
from jobs.alerts.kinds import Channel
from jobs.clock import Clock
from jobs.limits import Limits
from jobs.models import Notice

logger = structlog.get_logger(__name__)

AT_ONCE = 16  # notices under way: one receiver that hangs holds up none of the others
OURS = timedelta(minutes=5)  # a try is nobody else's: longer than any takes
A_MOMENT = 0.5  # seconds that a round waits for a place: most receivers answer sooner, and it must see what is new
AWAY = (OperationalError, InterfaceError)  # what the database's absence raises
OUTCOMES = ("sent", "failed", "given_up")

SENT = Counter(
    "notices_sent_total",
    "Tries to hand a notice over, by how they ended: sent, failed and tried again later, or given up.",
    ["channel", "outcome"],
)
for _channel in Channel:  # so that the first failure of all is seen as a step
    for _outcome in OUTCOMES:
        SENT.labels(_channel.value, _outcome)

Deliver = Callable[..., str]  # of a notice, and whether this is the last try


class Courier:
    def __init__(self, deliver: Deliver, *, clock: Clock, limits: Limits) -> None:
        self.clock = clock
        self._deliver = deliver
        self._limits = limits
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="notice")
        self._tries: dict[Future[str], Notice] = {}  # those under way, and those whose end is not yet written

    def tick(self) -> int:
        """Write how tries have ended, and begin one for some notices whose time has come; return how many."""
        self._settle_ended()
        begun = self._begin(AT_ONCE - len(self._tries))
        wait(self._tries, timeout=A_MOMENT, return_when=FIRST_COMPLETED)
        self._settle_ended()
        return begun

    def finish(self) -> None:
        """Wait for all that is under way, and write how it has ended."""
        wait(self._tries)
        self._settle_ended()

    def stop(self) -> None:
        """What cannot be written now is tried again by whoever comes next."""
        self._pool.shutdown()
        try:
            self.finish()
        except AWAY as error:
            remedy = "these notices may arrive twice, with the same idempotency key"
            logger.warning("notice.end_unwritten", count=len(self._tries), error=str(error), remedy=remedy)

    def _begin(self, places: int) -> int:
        if not places:
            return 0
        now = self.clock.now()
        busy = Numbers(notice.rule.tenant_id for notice in self._tries.values() if notice.rule.tenant_id)
        begun = 0
        for notice in Notice.objects.due(now, busy).select_related("rule")[:places]:
            rights = _rights_needed(notice)
            if rights and not rights.verified:
                self._give_up(notice, UNVERIFIED)
            elif rights and (wait := mail_rates.wait_for(notice.rule.tenant_id, notice.rule.emails, rights)):
                notice.put_off(now + wait, "waiting: the mail rate of the tenant or of the recipient is reached")
            elif notice.take(now + OURS):
                self._tries[self._pool.submit(self._deliver, notice, last=self._is_last(notice))] = notice
                begun += 1
        return begun

    def _settle_ended(self) -> None:
        for ended, notice in [(one, notice) for one, notice in self._tries.items() if one.done()]:
            try:
                self._settle(notice, ended)
            except AWAY:  # kept: else it would be sent again only because nobody knows that it was
                raise
            except Exception as error:  # one that can never be written must not hold up the others
                remedy = "it is tried again when its time comes"
                logger.exception("notice.end_unwritten", notice=str(notice.pk), error=str(error), remedy=remedy)
            del self._tries[ended]

    def _is_last(self, notice: Notice) -> bool:
        assert self._limits.max_retries is not None
        return notice.attempts > self._limits.max_retries

    def _settle(self, notice: Notice, ended: Future[str]) -> None:
        error = ended.exception()
        now = self.clock.now()
        if error is None:
            notice.sent(now, ended.result())
            self._count(notice, "sent")
            return
        told = f"{type(error).__name__}: {error}"
        match self._decided(notice, error, now):
            case RetryAt(at):
                notice.failed(told, at)
                self._count(notice, "failed")
                logger.warning("notice.not_sent", notice=str(notice.pk), error=told, again_at=at.isoformat())
            case GiveUp():
                self._give_up(notice, told)

    def _give_up(self, notice: Notice, told: str) -> None:
        notice.failed(told, None)
        self._count(notice, "given_up")
        remedy = "check the recipients or URL of the rule, then send a test notice"
        logger.error("notice.given_up", notice=str(notice.pk), error=told, remedy=remedy)

    def _decided(self, notice: Notice, error: BaseException, now: datetime) -> RetryAt | GiveUp:
        return decide(error, attempt=notice.attempts, limits=self._limits, now=now, spread=random.random())

    def _count(self, notice: Notice, outcome: str) -> None:
        SENT.labels(notice.rule.channel, outcome).inc()


def _rights_needed(notice: Notice) -> MailRights | None:
    """What its tenant may send, asked again before each mail. Notices of tenants count among their mails."""
    tenant = notice.rule.tenant_id
    return mail_rights({tenant})[tenant] if tenant and notice.rule.channel == Channel.EMAIL else None
