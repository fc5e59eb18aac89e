"""Runs slices of the tests on other versions of Python, Django, PostgreSQL, RabbitMQ and Redis than this machine has.

Each version comes from a release of Debian that is put into a folder of its own and entered with chroot. In there
`python -m tests.servers --private` starts the servers of that release on free loopback ports, and stops them.
"""
