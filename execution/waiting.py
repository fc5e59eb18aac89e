"""Lets executions go that waited for another one of their job to be over.

Nobody tells them: they look for themselves, each time their nap is over. So it makes no difference who ended the other
one, or how, or whether that process lived to tell. The price is a look now and then, and a start that much later.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from jobs import ledger
from jobs.ledger import WaitingFor
from jobs.models import Execution

SHARE = 0.05  # of the time the other one has run: what has run for an hour need not be looked at twice a second


def look_after(waiting: Sequence[Execution], *, now: datetime, look: timedelta, patience: timedelta) -> list[Execution]:
    """Return those that need wait no longer, to be sent; the others nap again. Call it in a transaction.

    A nap is `look`, longer behind one that has run for long, and at most `patience`. How long somebody has waited in
    line says nothing of how soon the next one is over: a long line of short runs would catch up ever more slowly.
    """
    if not waiting:
        return []
    stands = ledger.waited_for([one.id for one in waiting])
    free = [one for one in waiting if stands[one.id].over]
    ledger.let_go([(one.id, one.job_id) for one in free], now=now, wake_at=now + patience)
    naps = []
    for one in waiting:
        if not stands[one.id].over:
            naps.append((one.id, now + _nap(stands[one.id], now, look, patience)))
    ledger.nap(naps)
    return free


def _nap(other: WaitingFor, now: datetime, look: timedelta, patience: timedelta) -> timedelta:
    # Behind one that waits itself there is nothing to see: it is woken when that one is let go.
    if other.waits:
        return patience
    return min(max(look, SHARE * (now - (other.since or now))), patience)
