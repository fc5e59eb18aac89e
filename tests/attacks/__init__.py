"""Attacks by one stranger or one tenant on a running system, and what everybody else notices meanwhile.

`python -m tests.attacks` starts Punctual's own processes, runs each attack for some seconds, and measures beside it how
fast `/healthz` answers and how late another tenant's executions start. Times depend on the machine: this is a
measurement, and the tests that must not fail by chance are elsewhere.
"""
