# syntax=docker/dockerfile:1
# One image for every role: the command says which.
#   web         (the default) python -m scheduler_project.serve 0.0.0.0 8000 --detached
#   poller      python manage.py run_poller
#   executor    python manage.py run_executor [--tasks …]
#   recoverer   python manage.py run_recoverer
#   watcher     python manage.py run_watcher
#   migrations  python manage.py migrate
# Settings come from the environment; scheduler_project/settings.py has them all, docs/operations.md those that matter.
ARG PYTHON_IMAGE=python:3.14.10-slim-trixie

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/venv/bin:$PATH
RUN python -m venv /opt/venv
COPY requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir -r /tmp/requirements.txt
WORKDIR /app
COPY . .
# What the settings write while they are read here, keys included, stays behind in this stage.
RUN PUNCTUAL_VAR=/tmp/var STATIC_ROOT=/app/staticfiles python manage.py collectstatic --noinput --verbosity 0 \
    && python -m compileall -q /app /opt/venv/lib

FROM ${PYTHON_IMAGE} AS punctual
ARG VERSION=source
LABEL org.opencontainers.image.title="Punctual" \
      org.opencontainers.image.description="A distributed job scheduler: right about time, loses nothing, shows what happens." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
# All that may be written to is /var/lib/punctual and /tmp: the rest may be mounted read-only.
RUN groupadd --gid 10001 punctual \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/punctual --create-home --shell /usr/sbin/nologin punctual
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=scheduler_project.settings \
    PUNCTUAL_VAR=/var/lib/punctual \
    STATIC_ROOT=/app/staticfiles \
    PULSE_FILE=/tmp/punctual-pulse \
    LOG_FORMAT=json \
    WEB_THREADS=4
USER 10001:10001
EXPOSE 8000
VOLUME /var/lib/punctual
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
    CMD ["python", "/app/deploy/healthy.py", "web"]
CMD ["python", "-m", "scheduler_project.serve", "0.0.0.0", "8000", "--detached"]
