"""One process's link to one server, which can be cut, unplugged, slowed down, and made deaf or mute.

Every process has wires of its own, so that one can lose its database while the others keep theirs, and
so that the checker knows whose link it was.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

from tests.servers.private.ports import free_port

CONNECT_PATIENCE = 2.0  # seconds for a server that is there to accept


class Wire:
    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._delay = 0.0
        self._deaf = False  # what the server answers is lost
        self._mute = False  # what the process says is lost
        # Not one the system picks: a client that keeps trying an unplugged port of that range
        # would sooner or later call from that very port, and reach itself.
        self.port = free_port()
        self.plug_in()

    def plug_in(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def unplug(self) -> None:
        """End every connection, and refuse new ones until plugged in again."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def cut(self) -> None:
        """End every connection; new ones are made as before."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            _end(pair)

    def slow_down(self, seconds: float) -> None:
        self._delay = seconds

    def half_close(self, *, deaf: bool) -> None:
        """Lose one direction without a word: the answers, or else what is asked."""
        self._deaf, self._mute = deaf, not deaf

    def heal(self) -> None:
        """Let everything through again. Connections that lost bytes are of no use any more: they end."""
        broken = self._deaf or self._mute
        self._delay, self._deaf, self._mute = 0.0, False, False
        if broken:
            self.cut()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[near], daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target, timeout=CONNECT_PATIENCE)
        except OSError:
            near.close()
            return
        pair = (near, far)
        for end in pair:
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.add(pair)
        answers = threading.Thread(target=self._pump, args=[far, near, False], daemon=True)
        answers.start()
        self._pump(near, far, True)
        answers.join()
        with self._lock:
            self._pairs.discard(pair)
        near.close()
        far.close()

    def _pump(self, source: socket.socket, sink: socket.socket, asking: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self._delay:
                    time.sleep(self._delay)
                if self._mute if asking else self._deaf:
                    continue
                sink.sendall(data)
        _end((source, sink))


def _end(pair: tuple[socket.socket, socket.socket]) -> None:
    for end in pair:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
