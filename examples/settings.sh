#!/bin/sh
# With settings in a file the command is only the task; a flag overrides the file for one loop.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cp "$here/untildone.toml" .
untildone config | grep '^max_iterations'
untildone run "Write a report in steps" --max-iterations 4
