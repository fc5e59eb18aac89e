"""Imported by the server that children are forked from, so that each child has all of this already."""

import os
import signal

import django

# A signal to the whole group must not end what we may still need.
signal.signal(signal.SIGTERM, signal.SIG_IGN)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_project.settings")
django.setup()
