#!/bin/sh
# One loop: the agent works until the check passes, five rounds at most.
set -e
untildone run "Write a report in steps" --agent scripted --check 'test $(wc -l < scripted-work.md) -ge 3'
