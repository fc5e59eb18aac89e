"""Asks every route of the API everything that its own description allows, and much that it does not.

`python -m tests.fuzz` starts a web server on a database of its own, fills it with a tenant that has something of
everything, and lets schemathesis loose on it, signed in and with all checks on: no server error, no answer that the
description does not name, nothing accepted that it forbids. `make test-long` runs a slice of it.
"""
