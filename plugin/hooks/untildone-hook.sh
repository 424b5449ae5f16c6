#!/bin/sh
# Runs the hook of the installed untildone, found once and remembered. If there is none, the agent is left alone.
place="${CLAUDE_PLUGIN_DATA:-$HOME/.cache/untildone}/hook-program"

run() {
    { read -r interpreter && read -r program; } <"$place" 2>/dev/null || return 0
    [ -x "$interpreter" ] && [ -f "$program" ] && exec "$interpreter" -I -S "$program" "$@"
}

run "$@"
if command -v untildone >/dev/null 2>&1; then
    mkdir -p "${place%/*}" && untildone hook where >"$place.$$" 2>/dev/null && mv "$place.$$" "$place"
    run "$@"
fi
case $(cat) in
    *\"prompt\":\"/*until-done*) echo '{"decision":"block","reason":"untildone is not installed: run `uv tool install .` in a clone of its repository"}' ;;
    *) echo '{}' ;;
esac
