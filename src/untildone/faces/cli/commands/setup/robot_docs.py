"""`untildone robot-docs`: a page for agents: when and how to hand a job over."""

from __future__ import annotations

import click

from untildone.faces.cli import streams

PAGE = """\
# untildone, for agents

untildone keeps a coding agent at work on a task in the background until its checks pass, within a budget.

## When to hand a job over
- It takes longer than you want to wait, or many rounds of trying, and a command can tell whether it is done.
- Do not hand over a question, a job without a check, or a part of a file that you edit yourself meanwhile.
- Inside a loop you cannot: every command that steers loops is refused there. Do the job, or say what you need. Only if your prompt
  says that you may start loops of your own: `untildone child --help`.

## How
Start it. The task must be complete: the agent of the loop knows nothing else.

    untildone run "TASK" --check "COMMAND" --max-iterations 10 --detach --json

The last line has `loop_id`. --worktree works beside the folder, not in it. Checks of the project's untildone.toml count without --check.

    untildone wait LOOP --timeout 600      # exits as the loop did; 2: it still runs
    untildone show LOOP --json             # status, outcome, reason, spend, gates
    untildone diff LOOP                    # what it changed

## What the outcome means
    0    verified: every check passed. claimed: nothing checked it, so look yourself.
    3    budget: not done. `untildone say LOOP "[r+5] what matters"` gives five rounds and goes on.
    4    stalled: it repeats itself. Say something new, or take the job back.
    5 6  stopped, failed: `untildone retry LOOP` goes on.
    8    blocked: `reason` is a question. Ask your person if you do not know; `untildone say LOOP "ANSWER"` goes on.
    2    a wrong option, or a wait that is over. Standard error has one sentence and a hint.

Only `verified` is done. Never report anything else as done. `untildone verify LOOP` runs the checks again.

With MCP (`untildone mcp install AGENT`), the same are tools: start, wait, show, say, budget, diff, verify, approve, stop.
"""


@click.command("robot-docs")
def command() -> int:
    """Print a page for agents: when and how to hand a job over."""
    streams.data().line(PAGE.rstrip())
    return 0
