"""Asks the database past the pool, which tries for long and then does not say why."""

from __future__ import annotations

from typing import Any

from django.db import connection


def reach(**options: Any) -> None:
    """Connect once and let go, or raise with the server's own reason. `options` go over those of the settings."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        return
    told = connection.get_connection_params()
    told.pop("pool", None)
    connection.Database.connect(**told | options).close()
