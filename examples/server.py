"""A job on a server: start it, give it more rounds, and read what it did. Run it with a Python that has untildone installed."""

from __future__ import annotations

import json
import subprocess
import sys

import untildone
from untildone import events


def work(server: untildone.Client) -> str:
    loop = server.create(
        "Write a report in steps",
        start=True,
        agent="scripted",
        checks=["test $(wc -l < scripted-work.md) -ge 3"],
        max_iterations=2,
    )
    for entry in server.follow(loop):
        match entry.event:
            case events.LoopPaused(reason=reason):
                print("paused:", reason)
            case _:
                pass
    print(*server.say(loop, "[r+5] go on").notices)
    ended = server.wait(loop, timeout=60)
    return f"{ended.outcome.word if ended.outcome else ended.status.value} after {len(server.rounds(loop))} rounds"


command = [sys.executable, "-m", "untildone", "serve", "--no-dashboard", "--port", "0", "--json"]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with untildone.connect(url) as client:
            print(work(client))
    finally:
        process.terminate()
