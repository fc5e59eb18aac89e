"""How much memory a handlers' process may have, so that a handler that takes too much fails by itself.

Otherwise the machine runs out of it, and the system ends some process: perhaps this one's parent, or the database.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
ENDED_FIRST = 500  # of 1,000: how much rather than others the system ends this process when the machine has no memory


def limit_memory(most: int) -> None:
    """Let this process have `most` bytes besides what it has already, or half of its container's; 0 for no limit.

    What counts is memory that may be written to (RLIMIT_DATA). The address space (RLIMIT_AS) says little: threads,
    browsers and compilers reserve far more of it than they ever use. Only the soft limit is set, so that a handler that
    starts a program may raise it for that.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(ENDED_FIRST))
    if not most:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    # Where a container is out of memory, all of it may be ended, the executor too.
    wanted = _data() + min([most, *(limit // 2 for limit in limits_of_container())])
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def limits_of_container(files: Sequence[Path] = CONTAINER) -> list[int]:
    """The memory limits of this container in bytes; an empty list without a limit."""
    texts = [file.read_text().strip() for file in files if file.is_file()]
    return [int(text) for text in texts if text.isdigit()]


def _data() -> int:
    """The bytes that this process may write to; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
