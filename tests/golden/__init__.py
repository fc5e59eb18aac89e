"""What thousands of schedules answered when they were last looked at.

The oracle says whether an answer is right; this says whether it has moved. A change of a rule, of the
cron library or of how `H` is picked that moves anybody's runs shows up here by name, and is either a
mistake or is written down on purpose:

    python -m tests.golden check     every run of every schedule
    python -m tests.golden write     take what is answered now for what should be

All of it lies in the past, where governments no longer change the clocks. A new time zone database may
still correct the past of some zone; then the schedules of that zone move, and no others.
"""
