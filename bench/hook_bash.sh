#!/bin/bash
# A stop hook as one writes it with bash and jq, doing the same job as ours: read what the agent tells, the state of the
# session's loop and the agent's last message (from the transcript's tail), look for the promise, count the iteration,
# write the state and a line of journal, answer. No gates, no locks, no checksums, nothing forced to disk.
set -euo pipefail

event=$(cat)
{ read -r session; read -r transcript; read -r folder; } \
    < <(jq -r '.session_id, .transcript_path, .cwd' <<<"$event")
state="$folder/.bash-loop/$session.json"
[ -f "$state" ] || { echo '{}'; exit 0; }

{ read -r status; read -r iteration; read -r most; read -r promise; IFS= read -r -d '' task || true; } \
    < <(jq -r '.status, .iteration, .max_iterations, .promise, .task' "$state")
[ "$status" = running ] || { echo '{}'; exit 0; }

message=$(tail -c 65536 "$transcript" | grep '"type":"assistant"' | tail -n 1 \
    | jq -r '[.message.content[]? | select(.type == "text") | .text] | join("\n")' || true)

write_state() {
    jq -c --arg status "$1" --argjson iteration "$2" '.status = $status | .iteration = $iteration' "$state" >"$state.tmp"
    mv "$state.tmp" "$state"
    printf '{"ts":"%(%FT%TZ)T","event":"%s","iteration":%d}\n' -1 "$3" "$2" >>"$folder/.bash-loop/$session.log"
}

if grep -qxF "$promise" <<<"$message"; then
    write_state completed "$iteration" task_complete
    echo '{}'
elif [ "$iteration" -ge "$most" ]; then
    write_state paused "$iteration" loop_paused
    jq -cn '{systemMessage: "The budget is used up."}'
else
    next=$((iteration + 1))
    write_state running "$next" iteration_start
    jq -cn --arg reason "$task

[System: This is iteration $next of $most. Continue the task.]" '{decision: "block", reason: $reason}'
fi
