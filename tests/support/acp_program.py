"""A program that speaks the Agent Client Protocol, for tests: `python acp_program.py [BEHAVIOUR …]`. It needs no package.

silent    answers nothing
dies      ends with code 3 at a prompt
stuck     never answers a prompt, nor a cancel
cancels   answers a prompt only when it is cancelled
lingers   ignores the end of its standard input, and SIGTERM
asks      asks for permission to run a command, and does it if it may: it touches `ran.txt`
forgets   cannot open an earlier session
late      prints `ALL IS DONE` after its answer to a prompt, in the same write
signs     writes its process id into `program.pid`
A notification `chatter` makes it print a long line, `half` one that it does not end; `flood` makes it print errors without end.
A name that ends in `-later` holds from the second prompt of the process on.
The answer to a prompt is `<promise>COMPLETE</promise>` if the prompt asks for it, and the number of prompts in this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

WORDS = frozenset(sys.argv[1:])
LATER = frozenset(word.removesuffix("-later") for word in WORDS)


def line(**message: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}) + "\n"


def send(**message: Any) -> None:
    print(line(**message), end="", flush=True)


def updating(session: str, kind: str, **fields: Any) -> dict[str, Any]:
    update = {"sessionUpdate": kind, **fields}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def update(session: str, kind: str, **fields: Any) -> None:
    send(**updating(session, kind, **fields))


def permitted(session: str) -> bool:
    call = {"toolCallId": "t1", "kind": "execute", "title": "touch ran.txt", "rawInput": {"command": "touch ran.txt"}}
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send(id="ask", method="session/request_permission", params=params)
    answer = json.loads(sys.stdin.readline())
    return bool(answer["result"]["outcome"].get("optionId") == "yes")


def prompted(request: dict[str, Any], count: int) -> None:
    session, text = request["params"]["sessionId"], request["params"]["prompt"][0]["text"]
    words = WORDS if count == 1 else LATER
    if "signs" in words:
        Path("program.pid").write_text(str(os.getpid()))
    if "dies" in words:
        sys.exit(3)
    if "stuck" in words:
        update(session, "agent_message_chunk", content={"type": "text", "text": "stuck"})
        time.sleep(600)
    if "cancels" in words:
        update(session, "agent_message_chunk", content={"type": "text", "text": "working"})
        assert json.loads(sys.stdin.readline())["method"] == "session/cancel"
        send(id=request["id"], result={"stopReason": "cancelled"})
        return
    if "asks" in words and permitted(session):
        Path("ran.txt").touch()
    claim = "\n<promise>COMPLETE</promise>" if "<promise>" in text else ""
    update(session, "agent_message_chunk", content={"type": "text", "text": f"prompt {count}{claim}"})
    answer = line(id=request["id"], result={"stopReason": "end_turn"})
    promise = {"type": "text", "text": "ALL IS DONE"}
    late = line(**updating(session, "agent_message_chunk", content=promise)) if "late" in words else ""
    print(answer + late, end="", flush=True)


def main() -> None:
    if "lingers" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    count = 0
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case _ if "silent" in WORDS:
                continue
            case "initialize":
                capabilities = {"loadSession": "forgets" not in WORDS}
                send(id=request["id"], result={"protocolVersion": 1, "agentCapabilities": capabilities})
            case "session/new":
                send(id=request["id"], result={"sessionId": "s1"})
            case "session/load":
                update(request["params"]["sessionId"], "agent_message_chunk", content={"type": "text", "text": "old"})
                send(id=request["id"], result={})
            case "chatter" | "half" as word:
                # In one write: a reader may look between two.
                os.write(1, b"x" * 2000 + (b"\n" if word == "chatter" else b""))
            case "flood":
                while True:
                    sys.stderr.write("x" * 65536)
            case "session/prompt":
                count += 1
                prompted(request, count)
    if "lingers" in WORDS:
        time.sleep(600)


if __name__ == "__main__":
    main()
