"""What can be done to executions: the services' acts, in the admin's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from accounts.models import User
from accounts.quota import QuotaExceeded
from jobs import dead_letters, services
from jobs.admin.acts import Act, Outcome, each
from jobs.models import Execution, Job
from jobs.states import FINAL, IllegalMove, Status


def is_dead(execution: Execution) -> bool:
    return execution.status == Status.FAILED and execution.discarded_at is None


def _cancel(execution: Execution, actor: User) -> str:
    cancelled = services.cancel_execution(execution, actor=actor)
    if cancelled.status == Status.CANCELLED:
        return f"{execution}: cancelled."
    return f"{execution}: asked to end. It ends as soon as its handler does, or is stopped."


def _to_letters(act: Callable[..., int], done: str) -> Callable[[Sequence[Execution], User], Iterable[Outcome]]:
    """All at once, because a broker's queue has to be gone through for each call; then each is looked at."""

    def run(chosen: Sequence[Execution], actor: User) -> Iterable[Outcome]:
        ids = [one.pk for one in chosen]
        dead = set(Execution.objects.dead().filter(pk__in=ids).values_list("pk", flat=True))
        refusal = "Its job was cancelled or deleted, and never runs again."
        try:
            act(Execution.objects.filter(pk__in=ids), actor=actor)
        except QuotaExceeded as error:
            refusal = str(error)
        still = set(Execution.objects.dead().filter(pk__in=ids).values_list("pk", flat=True))
        for one in chosen:
            if one.pk in dead - still:
                yield Outcome(one, True, f"{one}: {done}.")
            elif one.pk in still:
                yield Outcome(one, False, f"{one}: passed over. {refusal}")
            else:
                yield Outcome(one, False, f"{one}: passed over. It is no dead letter.")

    return run


REPLAY = Act(
    "replay",
    "Replay",
    "replay",
    "Each runs again from now on, with all its retries and the payload it had.",
    _to_letters(dead_letters.replay, "runs again"),
    is_dead,
)
DISCARD = Act(
    "discard",
    "Discard",
    "delete",
    "They are let go: they stay in the history as failed, and can no longer be replayed.",
    _to_letters(dead_letters.discard, "discarded"),
    is_dead,
    grave=True,
)
CANCEL = Act(
    "cancel",
    "Cancel",
    "block",
    "What waits is cancelled at once; what runs is asked to end, and is not tried again.",
    each(_cancel, IllegalMove, Job.DoesNotExist),
    lambda execution: execution.status not in FINAL,
    grave=True,
)
EXECUTION_ACTS = (REPLAY, DISCARD, CANCEL)
