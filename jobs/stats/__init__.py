"""What a tenant's system is doing, in numbers: for the dashboard and for `GET /api/v1/stats`.

Nothing here counts a history. Every read is by an index and has a stated bound, and what could be more than that
says so; nothing is written for it by whoever records, claims or completes an execution.

A scope is a tenant, or None for all of them, which is for staff.
"""
