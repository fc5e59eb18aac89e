"""How a process that lives long keeps the garbage collector from getting in its way."""

from __future__ import annotations

import gc

YOUNG = 20_000  # objects made before the collector looks at them; a batch is thousands, and none of them in cycles


def keep_what_is_loaded() -> None:
    """Call it when everything is loaded: that is there to stay, and looking through it again and again takes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)
