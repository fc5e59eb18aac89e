"""Breaks a whole running system on purpose, and proves from four independent sources that nothing was lost.

    python -m tests.chaos --seconds 60 --seed 1 --mode full

Private servers, the real processes, a steady load, a plan of faults that the seed alone decides; then a
checker that believes nobody: it compares what clients were promised, what handlers really did, what the
database says, and what was broken when. It is also a Django app (`EXTRA_APPS=tests.chaos`), because the
handlers that keep the second of these sources run inside the executors.
"""
