"""The tasks Punctual brings along. Yours go into the `tasks.py` of any installed app."""

from execution.handlers import send_email

__all__ = ["send_email"]
