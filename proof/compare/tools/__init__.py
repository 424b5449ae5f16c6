"""The compared tools, one file each."""

from __future__ import annotations

from proof.compare.tools import ralph_loop, ralph_tui, ralphify, shell_loop, untildone

ALL = (
    untildone.TOOL,
    shell_loop.PLAIN,
    shell_loop.CHECKED,
    ralphify.TOOL,
    ralph_loop.TOOL,
    ralph_tui.TOOL,
    ralph_tui.SANDBOXED,
)
