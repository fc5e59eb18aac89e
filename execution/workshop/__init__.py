"""Where handlers run: in child processes, or, for tests and small machines, on our own threads."""

from execution.workshop.base import Finished, Workshop

__all__ = ["Finished", "Workshop"]
