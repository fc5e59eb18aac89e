"""The tasks Punctual brings along. Yours go into the `tasks.py` of any installed app."""

from execution.handlers import http_request, image_thumbnail, send_email

__all__ = ["http_request", "image_thumbnail", "send_email"]
