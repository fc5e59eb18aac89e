"""Where handlers run: in child processes, or, for tests and small machines, on our own threads."""

from execution.workshop.base import Workshop

__all__ = ["Workshop"]
