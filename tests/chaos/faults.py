"""Does to the running system what the plan says, and logs the begin and the end of every fault."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import count

from tests.chaos.journal import Journal
from tests.chaos.plan import Planned
from tests.chaos.stage import Stage


class Faults:
    """Each fault has a thread: several may overlap, and one that lasts holds up no other."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.journal = Journal(stage.folder / "faults.jsonl")
        self.begun = 0
        self._numbers = count(1)
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()

    def carry_out(self, faults: list[Planned], *, start: float) -> None:
        """Begin each at its time after `start` on the monotonic clock; return when the last has begun."""
        for fault in faults:
            if self._stop.wait(max(0.0, start + fault.at - time.monotonic())):
                return
            self.begin(fault)

    def begin(self, fault: Planned) -> threading.Thread:
        thread = threading.Thread(target=self._run, args=[fault], daemon=True)
        self._threads.append(thread)
        self.begun += 1
        thread.start()
        return thread

    def end(self) -> None:
        """Begin no more, and wait until what has begun is over and mended."""
        self._stop.set()
        for thread in self._threads:
            thread.join(120)

    def _run(self, fault: Planned) -> None:
        number = next(self._numbers)
        pid = self.stage.fleet.pid(fault.target) if fault.target in self.stage.fleet.slots else None
        self.journal.write(
            event="begin", number=number, kind=fault.kind, target=fault.target, server=fault.server, pid=pid
        )
        trouble = ""
        try:
            getattr(self, f"_{fault.kind}")(fault, pid)
        except Exception as error:  # a fault that cannot be made, such as a kill of what is being restarted
            trouble = f"{type(error).__name__}: {error}"
        self.journal.write(event="end", number=number, trouble=trouble)

    def _kill(self, fault: Planned, pid: int | None) -> None:
        """Of the process alone, as the kernel does when memory runs out: its children are for it to have seen to."""
        if pid:
            self.stage.fleet.signal(pid, signal.SIGKILL, alone=not fault.target.startswith("web"))

    def _kill_handler(self, fault: Planned, pid: int | None) -> None:
        """Of a child that runs handlers, where the executor has any."""
        children = self.stage.fleet.handlers(pid) if pid else []
        if not children:
            raise LookupError("handlers run in the executor itself, or none has run yet")
        os.kill(children[-1], signal.SIGKILL)

    def _term(self, fault: Planned, pid: int | None) -> None:
        if pid:
            self.stage.fleet.signal(pid, signal.SIGTERM)

    def _freeze(self, fault: Planned, pid: int | None) -> None:
        if pid:
            self.stage.fleet.signal(pid, signal.SIGSTOP)
            time.sleep(fault.seconds)
            self.stage.fleet.signal(pid, signal.SIGCONT)

    def _server_restart(self, fault: Planned, pid: int | None) -> None:
        server = self.stage.servers.by_name[fault.target]
        server.stop()
        time.sleep(fault.seconds)
        server.start()

    def _server_kill(self, fault: Planned, pid: int | None) -> None:
        server = self.stage.servers.by_name[fault.target]
        server.kill()
        time.sleep(fault.seconds)
        server.start()

    def _redis_flush(self, fault: Planned, pid: int | None) -> None:
        self.stage.servers.flush_redis()

    def _rabbitmq_alarm(self, fault: Planned, pid: int | None) -> None:
        self.stage.servers.set_alarm(True)
        time.sleep(fault.seconds)
        self.stage.servers.set_alarm(False)

    def _backend_kill(self, fault: Planned, pid: int | None) -> None:
        self.stage.servers.kill_backends(fault.target)

    def _link_cut(self, fault: Planned, pid: int | None) -> None:
        self.stage.wires[fault.target, fault.server].cut()

    def _link_unplug(self, fault: Planned, pid: int | None) -> None:
        wire = self.stage.wires[fault.target, fault.server]
        wire.unplug()
        time.sleep(fault.seconds)
        wire.plug_in()

    def _link_delay(self, fault: Planned, pid: int | None) -> None:
        wire = self.stage.wires[fault.target, fault.server]
        wire.slow_down(fault.strength)
        time.sleep(fault.seconds)
        wire.heal()

    def _link_deaf(self, fault: Planned, pid: int | None) -> None:
        self._half_close(fault, deaf=True)

    def _link_mute(self, fault: Planned, pid: int | None) -> None:
        self._half_close(fault, deaf=False)

    def _half_close(self, fault: Planned, *, deaf: bool) -> None:
        wire = self.stage.wires[fault.target, fault.server]
        wire.half_close(deaf=deaf)
        time.sleep(fault.seconds)
        wire.heal()
