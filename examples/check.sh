#!/bin/sh
# A check of several steps. untildone believes a claim only if this exits with 0; what it prints last goes into the next prompt.
#     untildone run "Write a report in steps" --check ./check.sh
set -e

if ! test -f scripted-work.md; then
    echo "There is no scripted-work.md yet."
    exit 1
fi
steps=$(grep -c '^Step' scripted-work.md)
if test "$steps" -lt 3; then
    echo "scripted-work.md has $steps of 3 steps."
    exit 1
fi
if grep -n '[[:space:]]$' scripted-work.md; then
    echo "These lines of scripted-work.md end with blanks."
    exit 1
fi
echo "scripted-work.md is complete."
