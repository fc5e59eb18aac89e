"""A TCP proxy on loopback: a link that tests can cut, freeze and mend."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, suppress


class Cable:
    """Stands in front of a server, and can be cut, frozen and mended."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self._flowing = threading.Event()
        self._flowing.set()
        self.port = 0
        self.mend()

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def cut(self) -> None:
        """End every connection; new ones are made as before."""
        while self._open:
            with suppress(OSError), closing(self._open.pop()) as end:
                end.shutdown(socket.SHUT_RDWR)

    def unplug(self) -> None:
        """End every connection, and refuse new ones until mended."""
        with closing(self._listener):
            self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()

    def freeze(self) -> None:
        self._flowing.clear()

    def thaw(self) -> None:
        self._flowing.set()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=[source, sink], daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flowing.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
