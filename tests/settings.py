"""The settings under test: the environment decides the mode, names and folders are this process's own."""

import atexit
import os
import shutil
import tempfile

# Nothing of ours may meet anything of others on a shared server.
os.environ["NAME_PREFIX"] = f"test-{os.getpid()}."
os.environ["PUNCTUAL_VAR"] = tempfile.mkdtemp(prefix="punctual-test-")
atexit.register(shutil.rmtree, os.environ["PUNCTUAL_VAR"], ignore_errors=True)
os.environ.setdefault("LOG_LEVEL", "INFO")
os.environ.update(RETRY_BASE="0.2", EXECUTION_LEASE="2", POLL_LEASE="1", PUBLISH_PATIENCE="1", STOP_GRACE="5")
os.environ["REMOTE_TASKS"] = """{
    "resize_video": {
        "schema": {
            "type": "object",
            "properties": {"url": {"type": "string"}, "width": {"type": "integer", "minimum": 1}},
            "required": ["url"],
            "additionalProperties": false
        },
        "max_retries": 2, "lease": 4, "time_limit": 60
    },
    "transcribe": {"from": "rabbitmq"}
}"""
os.environ["DJANGO_TASKS_QUEUES"] = "default,mails"
os.environ["CANARY_LOOK"] = "0.05"
os.environ.setdefault("ISOLATE_HANDLERS", "false")  # the tests' own handlers live in the tests' process

from scheduler_project.settings import *
from scheduler_project.settings import DATABASES, VAR_DIR

DATABASES["default"]["TEST"] = (
    {"NAME": str(VAR_DIR / "test.sqlite3")}  # a file: threads and child processes share it
    if DATABASES["default"]["ENGINE"].endswith("sqlite3")
    else {"NAME": f"test_punctual_{os.getpid()}"}
)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is slow on purpose
WHITENOISE_AUTOREFRESH = True  # files are found when asked for; to find all takes long, and each test's client would
