#!/usr/bin/env bash
# The HTTP API with curl: start a server, create a loop, follow its events, read its receipt. Needs the extra `serve`.
set -euo pipefail
UNTILDONE_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export UNTILDONE_TOKEN
untildone serve --no-dashboard --port 0 --json > server.json 2> server.log &
trap 'kill $!' EXIT
until test -s server.json; do sleep 0.1; done

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
url=$(field url < server.json)/api/v1
call() { curl --silent --fail-with-body --header "Authorization: Bearer $UNTILDONE_TOKEN" "$@"; }

loop=$(call --json '{"task": "Write a report in steps", "start": true,
    "settings": {"agent": "scripted", "checks": ["test -s scripted-work.md"]}}' "$url/loops" | field loop_id)
call "$url/loops/$loop/events"            # server-sent events, until the loop comes to rest
call "$url/loops/$loop/receipt" | field outcome
