#!/bin/sh
# A worker in plain shell and curl: claims executions over HTTP, runs a command for each, and says what came of it.
#
#   PUNCTUAL_URL=http://127.0.0.1:8000 WORKER_KEY=pwk_… examples/worker.sh COMMAND [ARGUMENTS]
#
# The command reads the claim as JSON from its standard input: {"claims":[{"execution":…,"payload":{…},…}]}. What it
# prints is the result, as JSON. When it fails, the last line of its standard error is the reason, and Punctual tries
# again later; exit code 65 says that it need not try again. ROUNDS=n ends after so many claims, found or not.
set -eu
: "${PUNCTUAL_URL:?where Punctual answers, such as http://127.0.0.1:8000}"
: "${WORKER_KEY:?a key from manage.py make_worker_key}"
[ $# -gt 0 ] || { echo "usage: worker.sh COMMAND [ARGUMENTS]" >&2; exit 64; }
WAIT=${WAIT:-20}   # seconds that a claim waits for work, at most 30
BEAT=${BEAT:-4}    # seconds between heartbeats: a third of the lease, or less
ROUNDS=${ROUNDS:-0}
HOPELESS=65        # the exit code of a command that no further attempt can help
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

say() { # say ROUTE < BODY: prints the answer; fails where Punctual refuses
    curl --silent --show-error --fail --max-time $((WAIT + 20)) --data-binary @- \
        -H "Authorization: Worker-Key $WORKER_KEY" -H "Content-Type: application/json" \
        "$PUNCTUAL_URL/api/v1/worker/$1"
}

keep() { # keep PID: heartbeats until the execution is lost or cancelled, and then ends the process
    while sleep "$BEAT"; do
        printf '{%s}' "$held" | say heartbeat 2>/dev/null | grep -q '"cancelled":false' || break
    done
    kill "$1" 2>/dev/null
}

quoted() { # the last line of a file, as the inside of a JSON text
    tail -n 1 "$1" | LC_ALL=C tr -cd '[:print:]' | cut -c 1-500 | sed 's/\\/\\\\/g; s/"/\\"/g'
}

round=0
while [ "$ROUNDS" -eq 0 ] || [ "$round" -lt "$ROUNDS" ]; do
    round=$((round + 1))
    if ! printf '{"wait":%s,"worker":"shell on %s"}' "$WAIT" "$(hostname)" | say claim > "$place/claim"; then
        sleep 2 # Punctual is away, or the key is not good: the line above says which
        continue
    fi
    # The id and the attempt come first in a claim, so that no shell has to read JSON.
    held=$(sed -n 's/^{"claims":\[{\("execution":"[^"]*","attempt":[0-9]*\).*/\1/p' "$place/claim")
    [ -n "$held" ] || continue

    "$@" < "$place/claim" > "$place/result" 2> "$place/error" &
    work=$!
    keep "$work" &
    heart=$!
    code=0
    wait "$work" || code=$?
    kill "$heart" 2>/dev/null || true

    if [ "$code" -eq 0 ]; then
        result=$(cat "$place/result")
        printf '{%s,"result":%s}' "$held" "${result:-null}" | say complete
    else
        retry=true
        [ "$code" -ne "$HOPELESS" ] || retry=false
        printf '{%s,"retry":%s,"error":"exit code %s: %s"}' "$held" "$retry" "$code" "$(quoted "$place/error")" | say fail
    fi || echo "Punctual did not take the outcome: the lease was lost, or the result is no JSON." >&2
    echo
done
