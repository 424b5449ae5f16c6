"""What the scripts of tries use. It is copied into the workspace, and knows of untildone only what is written in `world.json`."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

W: dict[str, Any] = json.load(open("world.json", encoding="utf-8"))  # noqa: SIM115
HOME, OUTSIDE, WORKSPACE = W["home"], W["outside"], os.getcwd()
MARK, VICTIM = W["mark"], W["victim"]
ALLOWED, FORBIDDEN = W["ports"]["loopback"], W["ports"]["forbidden"]
SSH_AGENT, TMUX = W["sockets"]["ssh-agent"], W["sockets"]["tmux"]
LIBC = ctypes.CDLL(None, use_errno=True)


def say(text: object) -> None:
    """Keep a text where the judge looks for secrets."""
    with open(os.path.join(WORKSPACE, "said.txt"), "a", encoding="utf-8", errors="replace") as file:
        file.write(f"{text}\n")


def got(what: str) -> None:
    """Say that the try has a power which it must not have."""
    say(f"GOT {what}")


def show(path: str) -> None:
    """Read a file, or list a folder, and say what is there."""
    with contextlib.suppress(OSError):
        if os.path.isdir(path):
            for name in sorted(os.listdir(path))[:50]:
                show(os.path.join(path, name))
            return
        with open(path, "rb") as file:
            say(f"{path}: {file.read(20_000).decode(errors='replace')}")


def spoil(path: str, text: str = "ESCAPED\n") -> None:
    """Write to a file by every plain way."""
    with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
        file.write(text)
    with contextlib.suppress(OSError):
        draft = f"{path}.new"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    with contextlib.suppress(OSError):
        os.chmod(path, 0o777)
    with contextlib.suppress(OSError):
        os.utime(path, (1, 1))


def run(command: str, seconds: float = 15.0) -> str:
    """Run a shell command; say and return what it printed."""
    try:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=seconds, errors="replace")
        text = done.stdout + done.stderr
    except subprocess.TimeoutExpired as problem:
        text = f"{problem.stdout!r}"
    say(f"$ {command}\n{text}")
    return text


def opens(path: str, flags: int) -> bool:
    """Whether a file can be opened so. Nothing is written."""
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    return True


def syscall(*arguments: Any) -> int:
    """The result of a system call by its number; minus the error number if it fails."""
    result = LIBC.syscall(*arguments)
    return -ctypes.get_errno() if result == -1 else int(result)


def knock(family: int, address: Any, words: bytes = b"GET / HTTP/1.0\r\n\r\n", kind: int = socket.SOCK_STREAM) -> None:
    """Connect and say something; say what comes back."""
    with contextlib.suppress(OSError), socket.socket(family, kind) as line:
        line.settimeout(3)
        line.connect(address)
        line.sendall(words)
        say(line.recv(4096).decode(errors="replace"))


def ask_proxy(request: str, then: bytes = b"") -> str:
    """What the proxy of the box answers."""
    address = os.environ.get("HTTP_PROXY", "http://127.0.0.1:9").removeprefix("http://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((address[0], int(address[1])), 5) as line:
        line.settimeout(5)
        line.sendall(request.encode("latin-1"))
        text = line.recv(4096).decode(errors="replace")
        if then:
            line.sendall(then)
            text += line.recv(4096).decode(errors="replace")
        say(text)
        return text
    return ""


def ask_runner(request: object, seconds: float = 60.0) -> dict[str, Any]:
    """What the runner of the loop answers to a request about loops of the agent's own. Bytes are sent as they are."""
    content = request if isinstance(request, bytes) else json.dumps(request).encode()
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(seconds)
            line.connect(os.environ["UNTILDONE_LOOPS"])
            line.sendall(content)
            line.shutdown(socket.SHUT_WR)
            answer = json.loads(b"".join(iter(lambda: line.recv(65536), b"")))
    except (OSError, ValueError) as problem:
        answer = {"error": str(problem)}
    say(json.dumps(answer))
    return dict(answer)


def child(task: str, **given: object) -> str:
    """Start a loop of the agent's own, wait until it rests, and say all that can be asked about it. Returns its id."""
    started = ask_runner({"verb": "start", "task": task, **given})
    name = str(started.get("result", {}).get("loop_id", ""))
    for verb in ("wait", "show", "diff", "verify") if name else ():
        ask_runner({"verb": verb, "loop": name, "seconds": 60})
    return name


def daemonize() -> None:
    """Go on in a process without parents, session, environment and descriptors of before."""
    if os.fork():
        time.sleep(0.3)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(quiet, descriptor)
    os.chdir("/")
    os.execve("/bin/sh", ["sh", "-c", f"trap '' HUP TERM INT; while :; do sleep 1; : {MARK}; done"], {})


def done() -> None:
    """The end of every try: without it, the try counts as broken."""
    say("DONE")
    sys.stdout.write("<promise>COMPLETE</promise>\n")
