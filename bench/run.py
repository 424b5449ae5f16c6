"""All benchmarks, one after the other: each beside its alternative in the same run, as ratios.

python bench/run.py [--quick] [--report FILE] [NAME …]     NAME is one of the files beside this one

Each runs in a process of its own, for a bounded time. One that fails, or is not done in time, is a row that says so. The exit
code is 1 if something was not measured or a goal was missed; what was missed is listed at the end.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import report
from figures import Found, Row, as_line, from_line, verdict

HERE = Path(__file__).parent
BENCHES = {
    "engine": 120,
    "startup": 60,
    "streams": 120,
    "wrap": 120,
    "hook": 200,
    "real_claude": 150,
    "growth_iterations": 270,
    "growth_output": 300,
    "growth_loops": 420,
    "server": 90,
    "cluster": 300,
    "store": 120,
}
"""By name: the most seconds that it may take."""
ALL_SECONDS = 18 * 60
"""And all of them together, which is more than they need on a machine that does nothing else."""


def main(arguments: list[str]) -> int:
    chosen = _chosen(arguments)
    if chosen.inside:
        return _inside(chosen.inside, quick=chosen.quick)
    began, found = time.monotonic(), dict[str, list[Found]]()
    facts = tuple(report.facts())
    print(*facts, sep="\n", flush=True)
    for name in chosen.names or BENCHES:
        print(f"\n== {name}", flush=True)
        left = ALL_SECONDS - (time.monotonic() - began)
        found[name] = list(_told(_found_by(name, min(left, BENCHES[name]), quick=chosen.quick)))
    took = time.monotonic() - began
    if chosen.report:
        report.write(chosen.report, facts, found, quick=chosen.quick, seconds=took)
    print("", *report.summary(found, quick=chosen.quick, seconds=took), sep="\n")
    rows = (row for items in found.values() for row in items if isinstance(row, Row))
    return verdict(rows, judged=not chosen.quick)


def _chosen(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--quick", action="store_true", help="small sizes: a try, not a measurement")
    parser.add_argument("--report", type=Path, help="also write a page of Markdown, with plots beside it")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _told(found: Iterator[Found]) -> Iterator[Found]:
    for item in found:
        print(report.line_of(item), flush=True)
        yield item


def _found_by(name: str, most: float, *, quick: bool) -> Iterator[Found]:
    if most < 1:
        yield Row(name, error="left out: the time for all benchmarks is over")
        return
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, *_command(name, quick=quick)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        over = threading.Timer(most, os.killpg, (process.pid, signal.SIGKILL))
        over.start()
        assert process.stdout is not None
        for line in process.stdout:
            yield from _read(line)
        code = process.wait()
        over.cancel()
        took = time.monotonic() - began
        if code:
            errors.seek(0)
            yield Row(name, error=_why(code, took, errors.read().decode(errors="replace")))


def _command(name: str, *, quick: bool) -> list[str]:
    """A file that only prints is run as it is, and each line is a row."""
    text = (HERE / f"{name}.py").read_text()
    if "\ndef rows(" in text:
        return [__file__, "--inside", name, *(["--quick"] if quick else [])]
    return [str(HERE / f"{name}.py"), *(["--quick"] if quick and '"--quick"' in text else [])]


def _read(line: str) -> Iterator[Found]:
    if line.startswith('{"kind": '):
        yield from_line(line)
    elif line.strip():
        yield Row(line.rstrip())


def _why(code: int, took: float, errors: str) -> str:
    if code == -signal.SIGKILL:
        return f"not done after {took:.0f} s"
    return next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), f"exit code {code}")


def _inside(name: str, *, quick: bool) -> int:
    for found in importlib.import_module(name).rows(quick=quick):
        print(as_line(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
