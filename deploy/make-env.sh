#!/bin/sh
# Writes .env for compose.yaml with keys and passwords of this machine's own. Run it as often as you like: what is set
# already stays, and only what is missing is added. Losing SECRETS_KEY loses the secrets in jobs: keep a copy elsewhere.
set -eu
umask 077
file=${1:-"$(dirname "$0")/../.env"}
touch "$file"
chmod 600 "$file"
if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
    echo >>"$file" # a last line without an end would run into ours
fi

random() { # so many characters that need no quoting in a URL or a shell
    LC_ALL=C tr -dc 'A-Za-z0-9' </dev/urandom | head -c "$1"
}

added=""
for name in SECRET_KEY JWT_SIGNING_KEY SECRETS_KEY POSTGRES_PASSWORD REDIS_PASSWORD RABBITMQ_PASSWORD \
    GRAFANA_PASSWORD; do
    grep -q "^$name=." "$file" && continue
    case $name in
    *_KEY) length=64 ;;
    *) length=32 ;;
    esac
    echo "$name=$(random $length)" >>"$file"
    added="$added $name"
done
echo "$file:${added:- nothing} added"
