"""The program of the agent `ticker`: it ticks the first open item of checklist.md, and prints what it does as lines of JSON."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

CHECKLIST = Path("checklist.md")
OPEN, DONE = "- [ ] ", "- [x] "


def main() -> None:
    prompt = sys.stdin.read()
    lines = CHECKLIST.read_text().splitlines() if CHECKLIST.exists() else []
    number = next((number for number, line in enumerate(lines) if line.startswith(OPEN)), None)
    if number is not None:
        lines[number] = DONE + lines[number].removeprefix(OPEN)
        CHECKLIST.write_text("\n".join(lines) + "\n")
        tell("tool", f"tick {lines[number].removeprefix(DONE)}")
    left = sum(line.startswith(OPEN) for line in lines)
    promise = re.search(r"<promise>.*?</promise>", prompt)
    tell("say", f"{left} items are open." if left or promise is None else f"All items are done.\n\n{promise[0]}")


def tell(event: str, text: str) -> None:
    print(json.dumps({"event": event, "text": text}), flush=True)
