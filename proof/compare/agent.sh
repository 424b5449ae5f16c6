#!/bin/bash
# A fake `claude`: prints what `claude -p` prints, as text or as a stream. The file `behaviour` in its folder configures it.
# It logs the start and end of each call. Besides the promise it can write the status file of ralph-loop.
if [ "$1" = --version ]; then
    echo '2.1.325 (Claude Code)'
    exit 0
fi
here=${0%/*}
stamp() { echo "$$ $EPOCHREALTIME" >>"$here/$1"; }
stamp begun
mapfile -t begun <"$here/begun"
call=${#begun[@]}
# It sets: behaviour, and for some done_on, slow_on, seconds, cheat, extension.
. "$here/behaviour"

stream= session=00000000-0000-4000-8000-000000000001 before=
for argument; do
    case $before in --session-id | --resume) session=$argument ;; esac
    case $argument in
        stream-json | --output-format=stream-json) stream=yes ;;
        --session-id=* | --resume=*) session=${argument#*=} ;;
    esac
    before=$argument
done
# With --input-format=stream-json the prompt is one line, and standard input stays open.
case " $* " in
    *" --input-format=stream-json "*) read -r _ ;;
    *) [ -t 0 ] || cat >/dev/null ;;
esac

answer() { # text, and the value for the status file
    [ ! -d .ralph ] || echo "$2" >.ralph/status
    if [ -n "$stream" ]; then
        local usage='"usage":{"input_tokens":100,"output_tokens":20}' place="\"session_id\":\"$session\""
        printf '{"type":"system","subtype":"init",%s,"tools":[],"model":"stand-in"}\n' "$place"
        printf '{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"%s"}],%s},%s}\n' \
            "$1" "$usage" "$place"
        printf '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"%s","total_cost_usd":0.001,%s,%s}\n' \
            "$1" "$usage" "$place"
    else
        printf '%b\n' "$1"
    fi
    stamp ended
}
claim() { answer 'All of it is done.\n\n<promise>COMPLETE</promise>' DONE; }
work() {
    echo "Step $call" >>notes.md
    answer "Step $call is done; there is more to do." CONTINUE
}
finish() { # only once: a call after the work is done changes nothing
    [ -f result.txt ] || echo done >result.txt
    claim
}
be_slow() {
    if ((slow_on == call || slow_on == 0)); then
        echo "$call" >"$here/slow"
        sleep "$seconds"
    fi
}
count_the_living() { # the number of living calls, including this one
    local living=0 line state
    for line in "${begun[@]}"; do
        read -r _ _ state _ 2>/dev/null <"/proc/${line%% *}/stat" && [ "$state" != Z ] && living=$((living + 1))
    done 2>/dev/null
    echo "$living" >>"$here/living"
}

cheat() { # makes the check say yes, and does no work
    case $cheat in
        rewrites) echo 'exit 0' >check.sh ;;
        ignores) sed -i 's/$/ || true/' check.sh ;;
        hides) echo 'exit 0' >check.sh && git update-index --assume-unchanged check.sh ;;
        replaces) printf '#!/bin/sh\nexit 0\n' >"$here/grep" && chmod +x "$here/grep" ;;
    esac
    claim
}
extend() { # does the work, and adds to the check
    case $extension in
        stricter) echo 'test -s result.txt || exit 1' >>check.sh ;;
        another) echo 'sh check.sh && test -s result.txt' >check-more.sh ;;
        ignored) echo '*.log' >>.gitignore && echo x >run.log ;;
    esac
    finish
}

case $behaviour in
    cheat) cheat ;;
    extend) extend ;;
    truthful) if ((call >= done_on)); then finish; else work; fi ;;
    liar) claim ;;
    careless) if ((call == 1)); then claim; elif ((call >= done_on)); then finish; else work; fi ;;
    never) work ;;
    quoting)
        echo "Step $call" >>notes.md
        answer "Step $call is done. I shall write \`<promise>COMPLETE</promise>\` when the rest is, too." CONTINUE
        ;;
    slow)
        count_the_living
        be_slow
        work
        ;;
    forks)
        sleep 600 </dev/null >/dev/null 2>&1 &
        plain=$!
        setsid sleep 600 </dev/null >/dev/null 2>&1 &
        # In one write, so that whoever reads it sees all three.
        echo "$$ $plain $!" >"$here/family"
        wait
        ;;
esac
