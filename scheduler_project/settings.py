"""Every knob Punctual has, with its unit and its reason. All of them are read from the environment.

Nothing needs to be set: without servers Punctual runs embedded, on one SQLite file.
"""

from pathlib import Path

from jobs import policies
from jobs.states import JobStatus, Status, choices
from scheduler_project import admin_look
from scheduler_project.env import (
    env_address,
    env_age,
    env_choice,
    env_count,
    env_database,
    env_email,
    env_flag,
    env_kept,
    env_key,
    env_limit,
    env_list,
    env_object,
    env_retention,
    env_seconds,
    env_secret,
    env_secrets,
    env_server,
    env_text,
    env_tracing,
)
from scheduler_project.keys import refuse_weak
from scheduler_project.logs import configure_logging
from scheduler_project.private import private_folder

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env_text("PUNCTUAL_VAR", str(BASE_DIR / "var")))  # all that an embedded system writes
private_folder(VAR_DIR)  # nobody but its user has any business in there

PRODUCTION = env_flag("PRODUCTION", False)  # served over HTTPS, to others

# Servers. Each is independent; what is not named is done by the database.
DATABASES = {
    "default": env_database(
        "DATABASE_URL",
        embedded=VAR_DIR / "punctual.sqlite3",
        pool_size=env_count("DATABASE_POOL_SIZE", 20),  # connections a process may hold
    )
}
REDIS_URL = env_server("REDIS_URL", ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster"))
AMQP_URL = env_server("AMQP_URL", ("amqp", "amqps"))
# classic: for brokers that make quorum queues by default (Amazon MQ 4), which may refuse ours.
RABBITMQ_QUEUE_TYPE = env_choice("RABBITMQ_QUEUE_TYPE", ("", "classic"))
EMBEDDED = DATABASES["default"]["ENGINE"].endswith("sqlite3") and not REDIS_URL and not AMQP_URL
NAME_PREFIX = env_text("NAME_PREFIX")  # before every Redis key and RabbitMQ name: lets systems share servers

# Scheduling.
POLL_INTERVAL = env_seconds("POLL_INTERVAL", 0.05)  # an idle poller's longest nap: what it may add to a job due at once
POLL_BATCH = env_count("POLL_BATCH", 1000)  # jobs a round, at most; larger saves little and delays the first
DUE_INDEX_SLOTS = env_count("DUE_INDEX_SLOTS", 1)  # parts of the due index in Redis: a cluster spreads them over nodes
POLL_LEASE = env_seconds("POLL_LEASE", 15)  # how long a dead poller's jobs stay hidden
MISFIRE_GRACE = env_seconds("MISFIRE_GRACE", 60)  # found later than this, a job goes by its misfire policy
MISFIRE_ROWS = env_count("MISFIRE_ROWS", policies.MISFIRE_ROWS)  # of missed due times, a job: the last covers the rest
CATCH_UP_WINDOW = env_seconds("CATCH_UP_WINDOW", policies.CATCH_UP_WINDOW.total_seconds())  # for jobs that do not say
CATCH_UP_MAX = env_count("CATCH_UP_MAX", policies.CATCH_UP_MAX)  # runs in one go, for jobs that do not say
OVERLAP_LOOK = env_seconds("OVERLAP_LOOK", policies.OVERLAP_LOOK.total_seconds())  # until a run in line looks again

# Processes.
WEB_THREADS = env_count("WEB_THREADS", 4)  # requests a web process answers at once
WEB_QUEUE = env_count("WEB_QUEUE", 500)  # requests that wait for a thread; of more, the address with most is refused
WEB_CONNECTIONS = env_count("WEB_CONNECTIONS", 4096)  # open at once in a web process; further ones wait to be accepted
WEB_BUFFER_BYTES = env_count("WEB_BUFFER_BYTES", 128 * 1024**2)  # of bodies and answers in transit, memory and disk
TRANSFER_PATIENCE = env_seconds("TRANSFER_PATIENCE", 10)  # that a body, or the reading of an answer, may take …
TRANSFER_RATE = env_count("TRANSFER_RATE", 20_000)  # bytes received that add a second
BODIES_PER_ADDRESS = env_count("BODIES_PER_ADDRESS", 100)  # being received at once; further ones are refused
PULSE_FILE = env_text("PULSE_FILE")  # touched once a second while a daemon's loop turns; for healthchecks
WEB_WORKERS = env_count("WEB_WORKERS", 1)  # web processes behind one port: about one a processor that has nothing else

# Metrics. The web's are at /metrics beside all else it serves; the other processes have a port each.
METRICS_PORT = env_limit("METRICS_PORT", 0)  # of every process but the web, or --metrics-port; 0: not served
METRICS_HOST = env_text("METRICS_HOST", "0.0.0.0")  # where that port is: a Prometheus is mostly elsewhere
METRICS_SOCKET = env_text("METRICS_SOCKET")  # where run_all tells its web process all other numbers; it sets it itself
METRICS_LOOK = env_seconds("METRICS_LOOK", 5)  # between two reads of what has to be asked for, such as queue depths

# Tracing, from a request to the handlers it leads to: an extra, see docs/tracing.md. What OpenTelemetry's own variables
# (OTEL_…) say of collectors, names and samplers goes.
TRACING = env_tracing("TRACING")  # unless it is said: whether OTEL_EXPORTER_OTLP_ENDPOINT names a collector

# Execution.
EXECUTOR_THREADS = env_count("EXECUTOR_THREADS", 8)  # handlers running at once in one executor
EXECUTOR_SPARE_THREADS = env_limit(
    "EXECUTOR_SPARE_THREADS", max(1, EXECUTOR_THREADS // 4)
)  # beside them, for tenants with less than an equal share of a full executor; 0: one tenant may hold all threads
ISOLATE_HANDLERS = env_flag("ISOLATE_HANDLERS", True)  # in child processes, so that any can be stopped
# MiB that handlers' process may have besides what it starts with: a handler that takes more fails alone. 0: no limit.
HANDLER_MEMORY_MIB = env_limit("HANDLER_MEMORY_MIB", 4096)
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
MAX_RESULT_BYTES = env_count("MAX_RESULT_BYTES", 256 * 1024)  # of an execution, as JSON: lists of them stay quick
LOG_LINES = env_count("LOG_LINES", 1000)  # that one attempt may keep; of more, it is said how many there were
LOG_BYTES = env_count("LOG_BYTES", 256 * 1024)  # … all of them together
WORDS_PAUSE = env_seconds("WORDS_PAUSE", 0.25)  # between two writes of progress and lines: who looks sees them so late

# What is kept, and for how long: such as 90d, or forever. See docs/looking-after.md.
HISTORY_KEPT = env_kept("HISTORY_KEPT", "90d")  # executions that are over, with their attempts; never a dead letter
HISTORY_KEPT_IS_CHOSEN = bool(env_text("HISTORY_KEPT"))  # or it is that default, which must surprise nobody:
HISTORY_NOTICE = env_seconds("HISTORY_NOTICE", "1h")  # … a recoverer says what will go, and waits so long
HISTORY_RUNS = env_limit("HISTORY_RUNS", 0)  # … and of each recurring job no more than the latest so many; 0: all
WORDS_KEPT = env_kept("WORDS_KEPT")  # log lines and progress of executions that are over: most of the bytes
AUDIT_KEPT = env_kept("AUDIT_KEPT")  # who did what; what tells when a job was to run is kept as long as its history
JOBS_KEPT = env_kept("JOBS_KEPT")  # jobs that have ended, and have no history left
PRUNE_BATCH = env_count("PRUNE_BATCH", 2000)  # rows looked at in one transaction: short enough to be in nobody's way
PRUNE_PAUSE = env_seconds("PRUNE_PAUSE", 0.5)  # between two of a recoverer's: at most PRUNE_BATCH rows go in this time

# Destinations that are down: whoever handlers talk to.
DESTINATION_FAILURES = env_count("DESTINATION_FAILURES", 5)  # in a row, and work for it waits, its retries kept
DESTINATION_PROBE = env_seconds("DESTINATION_PROBE", 1)  # before the first probe; twice as long before the next
DESTINATION_PROBE_CAP = env_seconds("DESTINATION_PROBE_CAP", 30)  # … but never longer: a recovery is seen this soon
DESTINATION_PATIENCE = env_seconds("DESTINATION_PATIENCE", 86_400)  # down for longer, waiting counts as failing
DESTINATION_PACE = env_count("DESTINATION_PACE", 5)  # executions a second, right after it has answered
DESTINATION_PACE_DOUBLES = env_seconds("DESTINATION_PACE_DOUBLES", 5)  # twice as many a second after each of these
DESTINATION_PACE_CAP = env_count("DESTINATION_PACE_CAP", 200)  # executions a second: from there on it is taken for well

# Alerts: what watchers notice, and whom they tell besides those that rules name. See docs/alerts.md.
WATCH_INTERVAL = env_seconds("WATCH_INTERVAL", 5)  # between two looks: what is wrong is noticed this much later
COURIER_INTERVAL = env_seconds("COURIER_INTERVAL", 1)  # between two looks at whether there is a notice to be sent
MISSED_AFTER = env_seconds("MISSED_AFTER", 30)  # a job due for so long has missed its time: no poller is that slow
LATE_AFTER = env_seconds("LATE_AFTER", 60)  # an execution that could have started so long ago is late
ABSENT_AFTER = env_seconds("ABSENT_AFTER", 20)  # without a poller or recoverer: a restart takes less
STALLED_AFTER = env_seconds("STALLED_AFTER", 300)  # work waits, and executors that serve it have completed none of it
ALERT_EMAILS = env_list("ALERT_EMAILS")  # operators: notified of the system, and of all that is missed
ALERT_WEBHOOK = env_secret("ALERT_WEBHOOK")  # … and a URL that gets the same notices
ALERT_WEBHOOK_SECRET = env_secret("ALERT_WEBHOOK_SECRET")  # what that is signed with: whsec_ and base64
ALERT_PAUSE = env_seconds("ALERT_PAUSE", 60)  # between two notices to them; what comes in between goes into the next
NOTICE_RETRIES = env_count("NOTICE_RETRIES", 12)  # of a notice that cannot be delivered, from RETRY_BASE on: 2 hours
WATCHER_PING_URL = env_secret("WATCHER_PING_URL")  # asked by watchers: who waits for it knows when they die
WATCHER_PING_EVERY = env_seconds("WATCHER_PING_EVERY", 60)

# Workers in other languages.
REMOTE_TASKS = env_object("REMOTE_TASKS")  # what they run: {"name": {"schema": …}}, or a file with it; docs/workers.md
WORKER_POLLS = env_count("WORKER_POLLS", max(1, WEB_THREADS // 2))  # of a web process, that wait: each has a thread
WORKER_POLL_WAIT = env_seconds("WORKER_POLL_WAIT", 30)  # the longest that one may ask to wait

# Functions decorated with django.tasks' @task. Needs Django 6 or the package django-tasks; see docs/django-tasks.md.
DJANGO_TASKS_QUEUES = env_list("DJANGO_TASKS_QUEUES")  # such as default,mails; without any, it is not used
DJANGO_TASKS_OPTIONS = env_object("DJANGO_TASKS_OPTIONS")  # JSON, or a file with it: the backend's OPTIONS
if DJANGO_TASKS_QUEUES:
    TASKS = {
        "default": {
            "BACKEND": "jobs.django_tasks.PunctualBackend",
            "QUEUES": DJANGO_TASKS_QUEUES,
            "OPTIONS": DJANGO_TASKS_OPTIONS,
        }
    }

# The API.
MAX_BODY_BYTES = env_count("MAX_BODY_BYTES", 1024 * 1024)
LARGEST_PAYLOAD = env_count(
    "LARGEST_PAYLOAD", 512 * 1024
)  # bytes of JSON, for any tenant: every attempt reads all of it
MOST_PAYLOAD_PARTS = env_count("MOST_PAYLOAD_PARTS", 10_000)  # keys and items: each costs far more than its bytes
IDEMPOTENCY_KEPT = env_seconds("IDEMPOTENCY_KEPT", 24 * 3600)  # how long a request sent again is known by its key

PAGE_SIZE = 50

# Accounts.
ACCESS_TOKEN_LIFETIME = env_seconds("ACCESS_TOKEN_LIFETIME", 15 * 60)
REFRESH_TOKEN_LIFETIME = env_seconds("REFRESH_TOKEN_LIFETIME", 7 * 24 * 3600)  # unused for so long, a sign-in is over
REGISTRATION = env_choice(  # who creates an account: anybody, people with an invitation, or administrators only
    "REGISTRATION", ("open", "invited", "closed"), "invited" if PRODUCTION else "open"
)
INVITATION_LIFETIME = env_seconds("INVITATION_LIFETIME", 7 * 24 * 3600)
LOGIN_PERIOD = env_seconds("LOGIN_PERIOD", 300)  # in which these many wrong passwords are answered:
LOGIN_ATTEMPTS = env_count("LOGIN_ATTEMPTS", 10)  # … for one account from one address: a person's typos
LOGIN_ATTEMPTS_PER_ACCOUNT = env_count("LOGIN_ATTEMPTS_PER_ACCOUNT", 30)  # … for one account, from all unknown ones
KNOWN_ADDRESS_KEPT = env_seconds("KNOWN_ADDRESS_KEPT", 90 * 24 * 3600)  # after a sign-in: known, to that account
LOGIN_ATTEMPTS_PER_ADDRESS = env_count("LOGIN_ATTEMPTS_PER_ADDRESS", 100)  # … an office behind one address
PASSWORD_RESET_TIMEOUT = int(env_seconds("PASSWORD_RESET_LIFETIME", 3600).total_seconds())  # of a mailed link
PASSWORD_RESET_PERIOD = env_seconds("PASSWORD_RESET_PERIOD", 3600)
PASSWORD_RESETS = env_count("PASSWORD_RESETS", 5)  # mails in that period to one address: nobody is flooded
PASSWORD_RESETS_PER_ADDRESS = env_count("PASSWORD_RESETS_PER_ADDRESS", 50)  # … asked for by one client address
EMAIL_PROOF_LIFETIME = env_seconds("EMAIL_PROOF_LIFETIME", 24 * 3600)  # of a link that verifies an address
EMAIL_PROOFS = env_count("EMAIL_PROOFS", 5)  # an hour, mailed to one user
REGISTRATION_PERIOD = env_seconds("REGISTRATION_PERIOD", 3600)
REGISTRATIONS_PER_ADDRESS = env_count("REGISTRATIONS_PER_ADDRESS", 500)  # tries in that period: a class may register
PUBLIC_URL = env_address("PUBLIC_URL", ("https", "http")).rstrip("/")  # links in mails begin with it
TENANTS_PER_USER = env_count("TENANTS_PER_USER", 100)  # owned: quotas are a tenant's, and tenants cost nothing

# Limits and quotas of a tenant that has none of its own; 0: none.
RATE_LIMIT = env_limit("RATE_LIMIT", 60_000)  # requests a minute: more than two cores answer, so a runaway loop's
KEY_RATE_LIMIT = env_limit("KEY_RATE_LIMIT", 30_000)  # of one API key: it leaves the others as much
MAX_ACTIVE_JOBS = env_limit("MAX_ACTIVE_JOBS", 0)  # that have a due time ahead
MAX_PAYLOAD_BYTES = env_limit("MAX_PAYLOAD_BYTES", 0)  # of one job; a body as a whole has MAX_BODY_BYTES
MAX_EXECUTIONS_A_DAY = env_limit("MAX_EXECUTIONS_A_DAY", 0)  # in UTC; beyond, what people ask for is refused

# Mail of tenants, so that no stranger floods others with it in our name; without PRODUCTION it goes to its makers.
MAIL_NEEDS_VERIFIED_OWNER = env_flag("MAIL_NEEDS_VERIFIED_OWNER", PRODUCTION)  # somebody answers for it
MAIL_RATE = env_limit("MAIL_RATE", 5_000 if PRODUCTION else 0)  # recipients an hour, unless the tenant has its own
MAIL_RATE_PER_RECIPIENT = env_limit("MAIL_RATE_PER_RECIPIENT", 120 if PRODUCTION else 0)  # an hour: two a minute to one
INVITATION_RATE = env_limit("INVITATION_RATE", 100)  # an hour, of a tenant, and of a user in all tenants
INVITATION_RATE_PER_RECIPIENT = env_limit("INVITATION_RATE_PER_RECIPIENT", 5)  # an hour, from all tenants

# The dashboard.
SNAPSHOT_AGE = env_seconds("SNAPSHOT_AGE", 1)  # what all who look at a tenant's dashboard share before it is read anew
PRESENCE_INTERVAL = env_seconds("PRESENCE_INTERVAL", 2)  # between two words of a process that it is there
LOGIN_URL = "sign-in"
CSRF_FAILURE_VIEW = "jobs.dashboard.errors.csrf_failure"
LOGIN_REDIRECT_URL = "overview"

# HTTP to the outside, for `http_request`.
HTTP_ALLOWED_HOSTS = tuple(env_list("HTTP_ALLOWED_HOSTS"))  # inside ones: names, host:port, networks
HTTP_PORTS = tuple(env_list("HTTP_PORTS", ["80", "443", "1024-65535"]))  # on hosts that are not listed above
HTTP_TIMEOUT = env_seconds("HTTP_TIMEOUT", 30)  # from the name to the answer's last byte, for payloads that do not say
HTTP_KEEP_BYTES = env_count("HTTP_KEEP_BYTES", 16 * 1024)  # of an answer's body; the rest is not even read
HTTP_LONGEST_WAIT = env_seconds("HTTP_LONGEST_WAIT", 24 * 3600)  # that a Retry-After is obeyed for
HTTP_CA_FILE = env_text("HTTP_CA_FILE")  # further certificate authorities, of hosts inside

# Files that tasks read and make. They are on this disk unless S3_BUCKET names a place that all machines share.
UPLOAD_MAX_BYTES = env_count("UPLOAD_MAX_BYTES", 20 * 1024 * 1024)  # of one file
UPLOAD_QUOTA_BYTES = env_limit("UPLOAD_QUOTA_BYTES", 1024 * 1024 * 1024)  # of a tenant's files; 0: no limit
UPLOAD_QUOTA_FILES = env_limit("UPLOAD_QUOTA_FILES", 10_000)  # of a tenant: each costs a look when they are pruned
UPLOAD_KEPT = env_retention("UPLOAD_KEPT", "30d")  # after its last use, to the day
S3_BUCKET = env_text("S3_BUCKET")
_LOCAL = {
    "BACKEND": "django.core.files.storage.FileSystemStorage",
    "OPTIONS": {"location": VAR_DIR / "uploads", "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700},
}
_S3 = {
    "BACKEND": "execution.storage.s3.S3Storage",
    "OPTIONS": {
        "bucket": S3_BUCKET,
        "endpoint": env_text("S3_ENDPOINT", "https://s3.amazonaws.com"),
        "region": env_text("S3_REGION", "us-east-1"),
        "access_key": env_secret("S3_ACCESS_KEY"),
        "secret_key": env_secret("S3_SECRET_KEY"),
        "prefix": NAME_PREFIX,
        # Without keys: the role that the platform lends. It sets these itself, by the names that AWS's clients know.
        "platform": {
            "role_arn": env_text("AWS_ROLE_ARN"),  # EKS, IAM roles for service accounts …
            "token_file": env_text("AWS_WEB_IDENTITY_TOKEN_FILE"),  # … and who we are there
            "sts": env_text("AWS_ENDPOINT_URL_STS"),  # who lends it; AWS's own of the region if nothing is said
            "url": env_text("AWS_CONTAINER_CREDENTIALS_FULL_URI"),  # EKS Pod Identity: its agent on the machine …
            "path": env_text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),  # … or that of ECS
            "authorization_file": env_text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
        },
    },
}
STORAGES = {
    "default": _S3 if S3_BUCKET else _LOCAL,
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

# Images, each decoded in a process of its own with no more than this.
IMAGE_MAX_PIXELS = env_count("IMAGE_MAX_PIXELS", 40_000_000)  # a few kilobytes can be more than memory holds
IMAGE_MEMORY = env_count("IMAGE_MEMORY", 1024 * 1024 * 1024)  # bytes
IMAGE_SECONDS = env_seconds("IMAGE_SECONDS", 20)  # of processor time

# Mail. Without a server, mails are written to a folder and to the log.
EMAIL_URL = env_secret("EMAIL_URL")
MAIL_FOLDER = VAR_DIR / "mail"
if EMAIL_URL:
    vars().update(env_email("EMAIL_URL"))
else:
    EMAIL_BACKEND = "execution.mailbox.FolderBackend"
EMAIL_TIMEOUT = 20  # seconds for each answer of the mail server; without one a silent server holds a thread for ever
DEFAULT_FROM_EMAIL = env_text("DEFAULT_FROM_EMAIL", "Punctual <punctual@localhost>")
EMAIL_HEADERS = env_list("EMAIL_HEADERS")  # that payloads may set besides the usual harmless ones
EMAIL_ATTACHMENT_BYTES = env_count("EMAIL_ATTACHMENT_BYTES", 10 * 1024 * 1024)  # a mail: most servers take no more

# Django.
TRUSTED_PROXIES = env_limit("TRUSTED_PROXIES", int(PRODUCTION))  # before us, that set X-Forwarded-For; 0: none
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DEMO_SEEDED = VAR_DIR / "demo_seeded"  # exists once the demo's jobs do: later starts must be able to run them
# Registers the demo's tasks, and hints at its password; `make run` sets it.
DEMO = env_flag("DEMO", EMBEDDED and not PRODUCTION and DEMO_SEEDED.exists())
# Keys: in production they are set; elsewhere one that is not is made up, and kept in a file.
SECRET_KEY = env_key("SECRET_KEY", None if PRODUCTION else VAR_DIR / "secret_key")
SECRET_KEY_FALLBACKS = env_secrets("SECRET_KEY_FALLBACKS")  # comma-separated: those before, whose signatures still hold
# What secrets in payloads are sealed with. Not SECRET_KEY: to change that signs people out, to lose this loses secrets.
SECRETS_KEY = env_key("SECRETS_KEY", None if PRODUCTION else VAR_DIR / "secrets_key")
SECRETS_OLD_KEYS = env_secrets("SECRETS_OLD_KEYS")  # comma-separated: those before, which still open
# Signs the API's tokens. Another key than the one above: each can be changed without the other.
JWT_SIGNING_KEY = env_key("JWT_SIGNING_KEY", None if PRODUCTION else VAR_DIR / "jwt_signing_key")
SIGNING_KEYS = {"SECRETS_KEY": SECRETS_KEY, "SECRET_KEY": SECRET_KEY, "JWT_SIGNING_KEY": JWT_SIGNING_KEY}
if PRODUCTION:
    refuse_weak(SIGNING_KEYS)  # here, because every process reads this: a web server makes no checks
DEBUG = env_flag("DEBUG", False)
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
HSTS_AGE = env_age("HSTS_AGE", "365d")  # for so long browsers ask this host by HTTPS only; 0: they are not told to
HSTS_SUBDOMAINS = env_flag("HSTS_SUBDOMAINS", False)  # … and every host below this one
HSTS_PRELOAD = env_flag("HSTS_PRELOAD", False)  # … and may be built into browsers: takes months to undo
if PRODUCTION:
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = HSTS_AGE
    SECURE_HSTS_INCLUDE_SUBDOMAINS = HSTS_SUBDOMAINS
    SECURE_HSTS_PRELOAD = HSTS_PRELOAD
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
    *env_list("EXTRA_APPS"),  # your own, with their tasks.py
]
MIDDLEWARE = [
    "scheduler_project.request_ids.RequestIds",
    *(["scheduler_project.tracing.requests.TraceRequests"] if TRACING else []),
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "scheduler_project.middleware.TolerateTrailingSlash",
    "scheduler_project.middleware.AnswerMachines",  # before any that asks for the host's name
    "scheduler_project.compression.CompressAnswers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "scheduler_project.middleware.RefuseNul",  # after what reads forms anyway
    "accounts.throttling.RateLimitHeaders",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
ROOT_URLCONF = "scheduler_project.urls"
WSGI_APPLICATION = "scheduler_project.wsgi.application"
APPEND_SLASH = False
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.attempts.LimitedBackend"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SILENCED_SYSTEM_CHECKS = [
    "models.W040",  # SQLite leaves out the columns an index includes, and is quick enough without
    # Both ask for what speaks for other hosts than this one, and browsers are slow to forget: a decision of the team's.
    *([] if HSTS_SUBDOMAINS else ["security.W005"]),
    *([] if HSTS_PRELOAD else ["security.W021"]),
]
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
STATIC_ROOT = Path(env_text("STATIC_ROOT", str(VAR_DIR / "static")))  # in an image it is not what is written to
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = not PRODUCTION  # so that trying it needs no collectstatic

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.TokenAuthentication",
        "accounts.authentication.KeyAuthentication",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.throttling.FairShare"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["jobs.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["jobs.api.rendering.QuickJSONRenderer"],
    "DEFAULT_FILTER_BACKENDS": ["jobs.api.filtering.StrictBackend"],
    "DEFAULT_SCHEMA_CLASS": "jobs.api.openapi.CompleteSchema",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS would describe forms that nobody fills in; /api/schema describes all
    "EXCEPTION_HANDLER": "jobs.api.problems.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": ACCESS_TOKEN_LIFETIME,
    "REFRESH_TOKEN_LIFETIME": REFRESH_TOKEN_LIFETIME,
    "ALGORITHM": "HS256",  # the only one accepted, whatever a token says of itself
    "SIGNING_KEY": JWT_SIGNING_KEY,
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
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "accounts.api.schema.describe_limits",
    ],
    "ENUM_NAME_OVERRIDES": {
        "JobStatus": choices(JobStatus),
        "ExecutionStatus": choices(Status),
        "Misfire": choices(policies.Misfire),
        "Overlap": choices(policies.Overlap),
        "ImageFit": ["inside", "cover"],
        "ImageFormat": ["jpeg", "png", "webp"],
    },
}

LOGGING_CONFIG = None
configure_logging(level=env_text("LOG_LEVEL", "INFO"), form=env_text("LOG_FORMAT", "auto"), traced=TRACING)
