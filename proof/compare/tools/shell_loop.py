"""The loop that people write themselves: the prompt again and again, a grep for the promise, a cap."""

from __future__ import annotations

from pathlib import Path

from proof.compare.sandbox import Sandbox
from proof.compare.tool import PROMISE, PROMPT, Tool

SCRIPT = """\
count=0
while [ "$count" -lt "$1" ]; do
  count=$((count + 1))
  cat PROMPT.md | claude -p --dangerously-skip-permissions | tee last.txt
  if @DONE@; then exit 0; fi
done
echo "not done after $1 iterations" >&2
exit 1
"""
CLAIMED = f"grep -q '{PROMISE}' last.txt"


def plain(sandbox: Sandbox) -> None:
    write_script(sandbox, CLAIMED)


def checked(sandbox: Sandbox) -> None:
    write_script(sandbox, f"{CLAIMED} && {sandbox.check}" if sandbox.check else CLAIMED)


def write_script(sandbox: Sandbox, done: str) -> None:
    (sandbox.workspace / "PROMPT.md").write_text(PROMPT)
    (sandbox.workspace / "loop.sh").write_text(SCRIPT.replace("@DONE@", done))


def start(cap: int) -> list[str]:
    return ["sh", "loop.sh", str(cap)]


PLAIN = Tool(
    name="shell loop",
    folder=Path("/bin"),
    prepare=plain,
    start=start,
    version=("readlink", "-f", "/bin/sh"),
    notes=("`while`, a counter, `cat PROMPT.md | claude -p | tee`, `grep -q PROMISE`; after a crash the same again.",),
)
CHECKED = Tool(
    name="shell loop + check",
    folder=Path("/bin"),
    prepare=checked,
    start=start,
    version=PLAIN.version,
    has_check=True,
    notes=("the shell loop, which ends on the promise only if the check passes as well.",),
)
