"""A door in front of a server, which can be shut in everybody's face, and counts who knocks meanwhile."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from tests.cable import Cable


class Door(Cable):
    """While it is shut, a connection is ended as soon as it is made: as by a server that is about to fall over."""

    def __init__(self, host: str, port: int) -> None:
        self.shut = False
        self.knocks = 0
        super().__init__(host, port)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                if self.shut:
                    self.knocks += 1
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=[source, sink], daemon=True).start()
