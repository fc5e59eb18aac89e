"""Which test process runs what: each test goes to whoever is free, and those that share something go to one.

A browser, or a system of several processes, takes seconds to start. The tests that only use one start it once, and so
have to run in the same process. (pytest-xdist's own `xdist_group` is lost on the way with the pytest we use.)
"""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    "tests/browser/",
    "tests/whole/test_client.py",
    "tests/whole/test_killed_poller.py",
    "tests/whole/test_limits.py",
    "tests/whole/test_run_all.py",
)


class SharedOut(LoadScopeScheduling):
    """As xdist has it, the largest company first; most tests are a company of their own."""

    def _split_scope(self, nodeid: str) -> str:
        return company(nodeid)


def company(nodeid: str) -> str:
    """Return a name for all that this test has to run with."""
    return next((shared for shared in TOGETHER if nodeid.startswith(shared)), nodeid)
