#!/bin/sh
# Makes .venv with the given Python. Debian keeps the module for that in a package of its own:
# root gets it installed, everybody else is told its name.
set -eu
python=${1:-python3}

"$python" -m venv .venv >/dev/null 2>&1 && exit 0
rm -rf .venv
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing python3-venv …"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null
    "$python" -m venv .venv && exit 0
fi
echo "This Python cannot make virtual environments. Install its venv module (Debian: apt install python3-venv)." >&2
exit 1
