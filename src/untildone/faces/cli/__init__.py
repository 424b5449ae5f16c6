"""The command line: a file a command, or a small group of them. `table` lists them all."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """The program `untildone`."""
    try:
        from untildone.faces.cli.module_path import leave_out_work

        leave_out_work()
        from untildone.faces.cli.entry import enter

        enter()
    except KeyboardInterrupt:
        # Ctrl-C while modules were being imported: nothing has begun yet.
        raise SystemExit(130) from None
