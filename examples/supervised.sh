#!/bin/sh
# A supervisor reads SUPERVISOR.md and decides whether the job is done; its feedback is the next prompt. Here both follow a script.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cp "$here/SUPERVISOR.md" .
cat > script.json <<'END'
[
  {"match_system": "You are the supervisor", "say": "report.md has no summary. Add one at the top."},
  {"match_system": "You are the supervisor", "say": "Everything is there.\n\n[TASK_COMPLETED {word}]"},
  {"write": {"report.md": "# Report\n\nDetails.\n"}, "say": "I wrote the report."},
  {"write": {"report.md": "# Report\n\nSummary.\n\nDetails.\n"}, "say": "I added a summary."}
]
END
untildone run "Write report.md" --mode supervise --agent scripted --check "grep -q Summary report.md" -- --script script.json --one-place
