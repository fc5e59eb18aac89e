"""Every knob Punctual has, with its unit and its reason. All of them are read from the environment.

Nothing needs to be set: without servers Punctual runs embedded, on one SQLite file.
"""

from datetime import timedelta
from pathlib import Path

from jobs import policies
from jobs.states import JobStatus, Status, choices
from scheduler_project import admin_look
from scheduler_project.env import env, env_count, env_database, env_seconds, env_server, kept_secret
from scheduler_project.logs import configure_logging

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.str("PUNCTUAL_VAR", default=str(BASE_DIR / "var")))  # all that an embedded system writes
VAR_DIR.mkdir(parents=True, exist_ok=True)

# Servers. Each is independent; what is not named is done by the database.
DATABASES = {
    "default": env_database(
        "DATABASE_URL",
        embedded=VAR_DIR / "punctual.sqlite3",
        pool_size=env_count("DATABASE_POOL_SIZE", 20),  # connections a process may hold
    )
}
REDIS_URL = env_server("REDIS_URL", ("redis", "rediss", "unix"))
AMQP_URL = env_server("AMQP_URL", ("amqp", "amqps"))
EMBEDDED = DATABASES["default"]["ENGINE"].endswith("sqlite3") and not REDIS_URL and not AMQP_URL
NAME_PREFIX = env.str("NAME_PREFIX", default="")  # before every Redis key and RabbitMQ name: lets systems share servers

# Scheduling.
POLL_INTERVAL = env_seconds("POLL_INTERVAL", 0.05)  # an idle poller's nap: the most it adds to a lone job
POLL_BATCH = env_count("POLL_BATCH", 1000)  # jobs a round, at most; larger saves little and delays the first
POLL_LEASE = env_seconds("POLL_LEASE", 15)  # how long a dead poller's jobs stay hidden
MISFIRE_GRACE = env_seconds("MISFIRE_GRACE", 60)  # found later than this, a job goes by its misfire policy
MISFIRE_ROWS = env_count("MISFIRE_ROWS", policies.MISFIRE_ROWS)  # of missed due times, a job: the last covers the rest
CATCH_UP_WINDOW = env_seconds("CATCH_UP_WINDOW", policies.CATCH_UP_WINDOW.total_seconds())  # for jobs that do not say
CATCH_UP_MAX = env_count("CATCH_UP_MAX", policies.CATCH_UP_MAX)  # runs in one go, for jobs that do not say
OVERLAP_LOOK = env_seconds("OVERLAP_LOOK", policies.OVERLAP_LOOK.total_seconds())  # until a run in line looks again

# Processes.
WEB_THREADS = env_count("WEB_THREADS", 4)  # requests a web process answers at once

# Execution.
EXECUTOR_THREADS = env_count("EXECUTOR_THREADS", 8)  # handlers running at once in one executor
ISOLATE_HANDLERS = env.bool("ISOLATE_HANDLERS", default=True)  # in child processes, so that any can be stopped
EXECUTION_LEASE = env_seconds("EXECUTION_LEASE", 15)  # how long a killed executor's work stays its own
EXECUTIONS_PER_MESSAGE = env_count("EXECUTIONS_PER_MESSAGE", 500)  # at most, and only of tasks this fast:
BUNDLE_SPAN = env_seconds("BUNDLE_SPAN", 0.02)  # what goes together should be run within this by one thread
BOOKKEEPING_DELAY = env_seconds("BOOKKEEPING_DELAY", 0.005)  # outcomes gathered for one commit
STOP_GRACE = env_seconds("STOP_GRACE", 20)  # what running work gets to finish after SIGTERM
PUBLISH_PATIENCE = env_seconds("PUBLISH_PATIENCE", 10)  # recorded but not confirmed for this long: publish again
QUEUE_PATIENCE = env_seconds("QUEUE_PATIENCE", 300)  # confirmed but not claimed for this long: perhaps lost
RECOVER_INTERVAL = env_seconds("RECOVER_INTERVAL", 0.2)  # an idle recoverer's nap; "run now" waits for it
RECOVER_BATCH = env_count("RECOVER_BATCH", 500)  # executions a round
CANARY_LOOK = env_seconds("CANARY_LOOK", 1)  # between looks at whether the first of a careful replay have completed
OVERDUE_AFTER = env_seconds("OVERDUE_AFTER", 2)  # a job due for this long is missing from the index: put it back
TIME_LIMIT = env_seconds("TIME_LIMIT", 600)  # what an attempt may take before it is stopped
END_GRACE = env_seconds("END_GRACE", 5)  # for a handler to end once told to, and again before it is ended by force
RETRY_BASE = env_seconds("RETRY_BASE", 2)  # the first retry waits about this long, each further one twice as long
RETRY_CAP = env_seconds("RETRY_CAP", 3600)  # … but never longer than this
MAX_RETRIES = 3  # for jobs and tasks that do not say

# The API.
MAX_BODY_BYTES = env_count("MAX_BODY_BYTES", 1024 * 1024)

PAGE_SIZE = 50

# The dashboard.
DEMO = env.bool("DEMO", default=False)  # registers the demo's tasks, and hints at its password; `make run` sets it
SNAPSHOT_AGE = env_seconds("SNAPSHOT_AGE", 1)  # what all who look at a tenant's dashboard share before it is read anew
PRESENCE_INTERVAL = env_seconds("PRESENCE_INTERVAL", 2)  # between two words of a process that it is there
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"

# Mail. Without a server, mails are written to a folder and to the log.
EMAIL_URL = env.str("EMAIL_URL", default="")
MAIL_FOLDER = VAR_DIR / "mail"
if EMAIL_URL:
    vars().update(env.email_url("EMAIL_URL"))
else:
    EMAIL_BACKEND = "execution.mailbox.FolderBackend"
EMAIL_TIMEOUT = 20  # seconds for each answer of the mail server; without one a silent server holds a thread for ever
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Punctual <punctual@localhost>")

# Django.
PRODUCTION = env.bool("PRODUCTION", default=False)  # served over HTTPS, to others
SECRET_KEY = (
    env.str("SECRET_KEY") if PRODUCTION else env.str("SECRET_KEY", default="") or kept_secret(VAR_DIR / "secret_key")
)
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
if PRODUCTION:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # asked from inside, without TLS
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

INSTALLED_APPS = [
    "scheduler_project.apps.UnfoldConfig",  # before the admin: its templates come first
    "scheduler_project.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_prometheus",
    "scheduler_project",
    "accounts",
    "jobs",
    "scheduling",
    "execution",
    *(["jobs.demo"] if DEMO else []),
    *env.list("EXTRA_APPS", default=[]),  # your own, with their tasks.py
]
MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "scheduler_project.middleware.TolerateTrailingSlash",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
ROOT_URLCONF = "scheduler_project.urls"
WSGI_APPLICATION = "scheduler_project.wsgi.application"
APPEND_SLASH = False
AUTH_USER_MODEL = "accounts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "scheduler_project.formats"
TIME_ZONE = "UTC"
USE_TZ = True
UNFOLD = admin_look.UNFOLD
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = not PRODUCTION  # so that trying it needs no collectstatic

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["jobs.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["jobs.api.rendering.QuickJSONRenderer"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "jobs.api.openapi.CompleteSchema",
    "EXCEPTION_HANDLER": "jobs.api.problems.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=15),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=7),
    "ALGORITHM": "HS256",
    "UPDATE_LAST_LOGIN": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Punctual",
    "DESCRIPTION": "A distributed job scheduler: say what to run and when, and see what became of it.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1",  # what follows it is the tag that operations are listed under
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "JobStatus": choices(JobStatus),
        "ExecutionStatus": choices(Status),
        "Misfire": choices(policies.Misfire),
        "Overlap": choices(policies.Overlap),
    },
}

LOGGING_CONFIG = None
configure_logging(level=env.str("LOG_LEVEL", default="INFO"), form=env.str("LOG_FORMAT", default="auto"))
