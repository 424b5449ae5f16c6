"""A program that speaks the Agent Client Protocol, for tests: `python acp_program.py [BEHAVIOUR …]`. It needs no package.

silent    answers nothing
dies      ends with code 3 at a prompt
stuck     never answers a prompt, nor a cancel
cancels   answers a prompt only when it is cancelled
lingers   ignores the end of its standard input, and SIGTERM
asks      asks for permission to run a command, and does it if it may: it touches `ran.txt`
forgets   cannot open an earlier session
The answer to a prompt is `<promise>COMPLETE</promise>` if the prompt asks for it, and the number of prompts in this process.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

BEHAVIOUR = frozenset(sys.argv[1:])


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(session: str, kind: str, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **fields}})


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
    if "dies" in BEHAVIOUR:
        sys.exit(3)
    if "stuck" in BEHAVIOUR:
        time.sleep(600)
    if "cancels" in BEHAVIOUR:
        update(session, "agent_message_chunk", content={"type": "text", "text": "working"})
        assert json.loads(sys.stdin.readline())["method"] == "session/cancel"
        send(id=request["id"], result={"stopReason": "cancelled"})
        return
    if "asks" in BEHAVIOUR and permitted(session):
        Path("ran.txt").touch()
    claim = "\n<promise>COMPLETE</promise>" if "<promise>" in text else ""
    update(session, "agent_message_chunk", content={"type": "text", "text": f"prompt {count}{claim}"})
    send(id=request["id"], result={"stopReason": "end_turn"})


def main() -> None:
    if "lingers" in BEHAVIOUR:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    count = 0
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case _ if "silent" in BEHAVIOUR:
                continue
            case "initialize":
                capabilities = {"loadSession": "forgets" not in BEHAVIOUR}
                send(id=request["id"], result={"protocolVersion": 1, "agentCapabilities": capabilities})
            case "session/new":
                send(id=request["id"], result={"sessionId": "s1"})
            case "session/load":
                update(request["params"]["sessionId"], "agent_message_chunk", content={"type": "text", "text": "old"})
                send(id=request["id"], result={})
            case "session/prompt":
                count += 1
                prompted(request, count)
    if "lingers" in BEHAVIOUR:
        time.sleep(600)


if __name__ == "__main__":
    main()
