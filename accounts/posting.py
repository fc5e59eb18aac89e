"""Mails from accounts, sent in the background, one after another.

A request that has a mail sent takes as long as one that has none sent: nobody learns from the time whether an account
exists, and a slow mail server holds no request. What is not sent when the process ends is lost; users ask again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from queue import Full, Queue
from threading import Thread

import structlog
from django.core.mail import send_mail
from django.db import connection

logger = structlog.get_logger(__name__)

MAX_WAITING = 200  # mails; with more the server is away, and users will ask again

Work = Callable[[], None]


def post(subject: str, text: str, address: str) -> None:
    later(lambda: _send(subject, text, address))


def later(work: Work) -> None:
    """Do this in the background. It must read all that it needs anew: the request may be over by then."""
    try:
        _queue().put_nowait(work)
    except Full:
        logger.warning("account_mail.dropped", waiting=MAX_WAITING, remedy="check that the mail server answers")


def wait_until_posted() -> None:
    _queue().join()


@cache
def _queue() -> Queue[Work]:
    # Made on first use: in the process that serves, not in one that it was forked from.
    queue: Queue[Work] = Queue(MAX_WAITING)
    Thread(target=_work_off, args=(queue,), name="account-mail", daemon=True).start()
    return queue


def _work_off(queue: Queue[Work]) -> None:
    while True:
        work = queue.get()
        try:
            work()
        except Exception as error:
            logger.warning("account_mail.not_sent", error=str(error), remedy="check EMAIL_URL and the mail server")
        finally:
            connection.close()
            queue.task_done()


def _send(subject: str, text: str, address: str) -> None:
    send_mail(subject, text, None, [address])
    logger.info("account_mail.sent", subject=subject)
