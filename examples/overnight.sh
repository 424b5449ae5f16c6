#!/bin/sh
# A loop in the background, within a budget; then wait for it, and see what it did.
set -e
loop=$(untildone run "Write a report in steps" --agent scripted --check "test -s scripted-work.md" --detach \
    --max-iterations 20 --max-minutes 480 --max-cost 10)
untildone wait "$loop"
untildone show "$loop"
untildone verify "$loop"
