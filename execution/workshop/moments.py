"""When a thread can be interrupted without losing a lock that it takes with `with`.

Up to Python 3.13, `with` calls `__enter__` and binds `__exit__` in one step. From 3.14 on, `with` enters by an ordinary
call. After each call, Python raises what another thread has set: the lock is taken, and nothing gives it back. So
the thread that sets the exception first checks where it would be raised.

A thread without the interpreter's lock is either inside a call of C code, and raises after that call, or it waits for
the lock after an instruction that looks for such exceptions, and raises at the next instruction that does. What it may
come to before that is read from its bytecode. C code that gives up the lock and then fails is not foreseen.
"""

from __future__ import annotations

import dis
import opcode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType

ENTERS_BY_A_CALL = "LOAD_SPECIAL" in opcode.opmap
CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}
# `len`, `type`, `isinstance` and `list.append` are specialized to instructions that do not look.
ARGUMENTS_OF_SPECIALIZED = (1, 2)
LEAVES = {"RETURN_VALUE", "YIELD_VALUE", "RETURN_GENERATOR"}
RAISES = {"RAISE_VARARGS", "RERAISE"}
ALWAYS_JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}


def is_safe(frame: FrameType, at: int) -> bool:
    """Whether an exception set while the frame is at that instruction is raised outside of every `__enter__`."""
    if not ENTERS_BY_A_CALL:
        return True
    if _steps(frame.f_code).is_enter(at):
        return False
    ahead = _ahead(frame.f_code, at)
    if ahead.enters or not ahead.leaves:
        return not ahead.enters
    return frame.f_back is None or _is_safe_after_return(frame.f_back)


def _is_safe_after_return(frame: FrameType | None) -> bool:
    while frame is not None:
        ahead = _ahead(frame.f_code, frame.f_lasti)
        if ahead.enters or not ahead.leaves:
            return not ahead.enters
        frame = frame.f_back
    return True


@dataclass(frozen=True, slots=True)
class Ahead:
    """What code may come to before it looks for exceptions."""

    enters: bool
    leaves: bool


class Steps:
    """The instructions of a code object, by their offsets."""

    def __init__(self, code: CodeType) -> None:
        self._all = list(dis.get_instructions(code))
        self._index = {one.offset: index for index, one in enumerate(self._all)}

    def is_enter(self, offset: int) -> bool:
        index = self._index.get(offset, 0)
        return index > 0 and self._all[index].opname == "CALL" and self._all[index - 1].opname == "LOAD_SPECIAL"

    def ahead(self, offset: int) -> Ahead:
        enters = leaves = False
        coming = list(self._next(self._index.get(offset, 0)))
        seen: set[int] = set()
        while coming:
            if (index := coming.pop()) in seen:
                continue
            seen.add(index)
            one = self._all[index]
            enters = enters or self.is_enter(one.offset)
            leaves = leaves or one.opname in LEAVES
            if not self._looks(one):
                coming += self._next(index)
        return Ahead(enters, leaves)

    def _next(self, index: int) -> Iterator[int]:
        one = self._all[index]
        if one.jump_target is not None:
            yield self._index[one.jump_target]
        if one.opname not in ALWAYS_JUMPS | LEAVES | RAISES and index + 1 < len(self._all):
            yield index + 1

    @staticmethod
    def _looks(one: dis.Instruction) -> bool:
        if one.opname == "CALL":
            return one.arg not in ARGUMENTS_OF_SPECIALIZED
        return one.opname in CALLS or one.opname in ("RESUME", "JUMP_BACKWARD")


@lru_cache(maxsize=256)
def _steps(code: CodeType) -> Steps:
    return Steps(code)


@lru_cache(maxsize=4096)
def _ahead(code: CodeType, offset: int) -> Ahead:
    return _steps(code).ahead(offset)
