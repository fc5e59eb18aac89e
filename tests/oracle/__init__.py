"""A second reading of cron, to hold the first one against.

Nothing here is shared with the code under test: not the parser, not the calendar, not the search. The
oracle is a daemon that wakes every minute of real time, looks at the clock on the wall and decides. That
is slow, and too simple to be wrong.

`python -m tests.oracle` goes through every clock change of every zone from 2000 to 2037; the normal tests
through some of them.
"""
