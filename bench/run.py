"""All benchmarks, one after the other: each beside its alternative in the same run, as ratios.

python bench/run.py [--quick] [NAME …]     NAME is one of the files beside this one
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("engine", "hook", "real_claude", "server")


def main(arguments: list[str]) -> int:
    options = [word for word in arguments if word.startswith("-")]
    wanted = [word for word in arguments if word in NAMES] or [name for name in NAMES if (HERE / f"{name}.py").exists()]
    failed = []
    for name in wanted:
        print(f"\n== {name}", flush=True)
        started = time.monotonic()
        if (
            subprocess.run(
                [sys.executable, str(HERE / f"{name}.py"), *(options if len(wanted) == 1 else ())]
            ).returncode
            != 0
        ):
            failed.append(name)
        print(f"({time.monotonic() - started:.0f} s)", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
